import { PerdureError } from '../../schema/error.ts';
import { currentVersion, type EventDraft, type SessionEvent } from '../../schema/event.ts';
import type { Appended, AppendOutcome, AppendRequest, NewEvent, SessionKey } from '../ports/store.ts';
import { encodeEvent } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import type { Redactor } from '../session/redaction/redact.ts';
import { redactDraft } from '../session/redaction/redact-draft.ts';
import type { WriteAccess } from './scope.ts';
import type { Landed } from './session-folds.ts';

/** Builds the events as a reader would receive them, without decoding the bytes that were just encoded. */
const eventsOf = (key: SessionKey, drafts: readonly EventDraft[], { events }: Appended): readonly SessionEvent[] =>
  events.map((stored, index) => {
    const draft = drafts[index]!;
    const { session, seq, at, turn, actor } = stored;
    return {
      workspace: key.workspace,
      session,
      seq,
      at,
      turn,
      ...(stored.run && { run: stored.run }),
      type: draft.type,
      version: currentVersion(draft.type),
      actor,
      payload: draft.payload,
      hash: Buffer.from(stored.hash).toString('hex'),
    } as SessionEvent;
  });

const refuseSecretKey = (redactor: Redactor, key: string | undefined): void => {
  if (key === undefined || redactor.text(key) === key) return;
  throw new PerdureError(
    'INVALID_INPUT',
    'the idempotency key contains a secret, and keys are stored unredacted: use another key',
  );
};

const encodeAll = ([first, ...rest]: readonly EventDraft[]): readonly [NewEvent, ...NewEvent[]] => [
  encodeEvent(first!),
  ...rest.map(encodeEvent),
];

export type Written = Landed | { readonly outcome: Exclude<AppendOutcome, Appended> };

/** Makes an append land only on the head of the fold that it was decided on. */
export const onTopOf = ({ seq, hash }: SessionFold): Pick<AppendRequest, 'onHead' | 'onHash'> => ({
  onHead: seq,
  onHash: hash,
});

/**
 * Appends drafts to a log. All writes to logs use this function. It removes known secrets before anything is encoded,
 * so that folds in memory match the stored log.
 */
export const appendDrafts = async (
  scope: WriteAccess,
  key: SessionKey,
  asked: readonly EventDraft[],
  request: Pick<
    AppendRequest,
    'writer' | 'creates' | 'onHead' | 'onHash' | 'whileStatus' | 'whileHeldBy' | 'whileDamaged' | 'raisesEpoch' | 'key'
  >,
): Promise<Written> => {
  const redactor = await scope.secrets.redactor();
  refuseSecretKey(redactor, request.key?.key);
  const drafts = asked.map((draft) => redactDraft(draft, redactor));
  const events = encodeAll(drafts);
  const outcome = await scope.store.append({ ...key, ...request, at: scope.clock.now(), events });
  if (outcome.outcome !== 'appended') return { outcome };
  const bytes = events.reduce((sum, { payload }) => sum + payload.length, 0);
  const written = eventsOf(key, drafts, outcome);
  scope.onAppended(written);
  return { outcome, events: written, bytes };
};
