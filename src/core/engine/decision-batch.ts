import { currentVersion, type EventDraft, type SessionEvent } from '../../schema/event.ts';
import type { SessionKey } from '../ports/store.ts';
import { OwnCopies } from '../session/events/copy-record.ts';
import { encodeEvent } from '../session/events/event-codec.ts';
import { fold as foldEvent, type SessionFold } from '../session/fold.ts';
import { redactDraft } from '../session/redaction/redact-draft.ts';
import type { WriteAccess } from './scope.ts';

/** Decides what to write on this fold. Returns undefined when nothing is left to write. */
export type Decide = (
  fold: SessionFold,
) => readonly EventDraft[] | undefined | Promise<readonly EventDraft[] | undefined>;

/** A decision that waits for its append. */
export interface WaitingDecision {
  readonly decide: Decide;
  resolve(events: readonly SessionEvent[]): void;
  reject(error: unknown): void;
}

type Decided = { readonly drafts: readonly EventDraft[] } | { readonly error: unknown };

/** Bounds one append. A larger decision is appended alone. */
const maxBatchBytes = 256 * 1024;

/** The fold as it will be once the drafts are appended, but for their hashes and times. */
const foldAhead = (
  key: SessionKey,
  before: SessionFold,
  drafts: readonly EventDraft[],
  now: number,
  copies: OwnCopies,
): SessionFold =>
  drafts.reduce((fold, { turn, ...draft }) => {
    const inTurn = turn === 'next' ? fold.lastTurn + 1 : turn === 'current' ? fold.turn : turn;
    const place = { ...key, seq: fold.seq + 1, at: now, turn: inTurn, hash: '', version: currentVersion(draft.type) };
    return foldEvent(fold, { ...draft, ...place } as SessionEvent, undefined, copies);
  }, before);

/**
 * Decides for as many as fit into one append, each on the fold that the ones before it leave. A decision that throws
 * fails alone.
 */
export const decideTogether = async (
  { secrets, clock }: WriteAccess,
  key: SessionKey,
  fold: SessionFold,
  waiting: readonly WaitingDecision[],
): Promise<readonly Decided[]> => {
  const decided: Decided[] = [];
  const copies = new OwnCopies();
  let ahead = fold;
  let bytes = 0;
  for (const { decide } of waiting) {
    try {
      const drafts = (await decide(ahead)) ?? [];
      if (waiting.length > 1) {
        const redactor = await secrets.redactor();
        const clean = drafts.map((draft) => redactDraft(draft, redactor));
        const size = clean.reduce((sum, draft) => sum + encodeEvent(draft).payload.length, 0);
        if (bytes > 0 && bytes + size > maxBatchBytes) break;
        bytes += size;
        ahead = foldAhead(key, ahead, clean, clock.now(), copies);
      }
      decided.push({ drafts });
    } catch (error) {
      decided.push({ error });
    }
  }
  return decided;
};
