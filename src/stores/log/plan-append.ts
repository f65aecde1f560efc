import type { Account } from '../../core/ports/ledger.ts';
import type {
  AppendOutcome,
  AppendRequest,
  Head,
  HeldBy,
  NewEvent,
  StoredEvent,
  StoredKey,
  Writer,
} from '../../core/ports/store.ts';
import { accountAfter } from '../../core/session/account.ts';
import { claimOf, eventHash, genesisHash } from '../../core/session/events/chain.ts';
import { opensTurn, summarize } from '../../core/session/summary.ts';
import { PerdureError } from '../../schema/error.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { type Seal, sealPayload } from '../codec/seal-payload.ts';

/** The stored facts about the session, read in the append's own transaction. */
export interface AppendBase {
  readonly head: Head | undefined;
  /** For a fork: the parent's head, and the hash and time of the event at the fork point. */
  readonly parent?: { readonly head: Head; readonly hash: Uint8Array; readonly at: number } | undefined;
  /** The earlier use of the request's key in this session. */
  readonly key?: StoredKey | undefined;
}

const refuseForeignTypes = (request: AppendRequest): void => {
  if (request.writer.kind === 'run') return;
  const foreign = request.events.find(({ type }) => /^(run|tool|model)\./.test(type));
  if (!foreign) return;
  throw new PerdureError(
    'WRITER_FORBIDDEN',
    `only runs may write ${foreign.type}: claim the session and append with its epoch`,
    { details: { type: foreign.type } },
  );
};

const isFenced = (head: Head, writer: Writer): boolean =>
  writer.kind === 'run' &&
  (writer.epoch !== head.epoch || writer.claim !== head.claim || head.seq < (writer.writtenTo ?? 0));

const isOn = (head: Head, { onHead, onHash }: AppendRequest): boolean => {
  if (onHead !== undefined && onHead !== head.seq) return false;
  return onHash === undefined || onHash === Buffer.from(head.hash).toString('hex');
};

const isHeldBy = ({ summary: { holder, handoff } }: Head, { holder: wanted, member, role }: HeldBy): boolean =>
  holder === wanted && (holder === 'agent' || (handoff?.member === member && handoff?.role === role));

interface Start {
  readonly seq: number;
  readonly hash: Uint8Array;
  readonly at: number;
  readonly summary?: SessionSummary | undefined;
  readonly account?: Account | undefined;
}

/** The event before a new session's first own event; undefined when its fork point does not exist. */
const newStart = ({ creates }: AppendRequest, { parent }: AppendBase): Start | undefined => {
  if (!creates?.parent) return { seq: 0, hash: genesisHash, at: 0 };
  return parent && { seq: creates.parent.seq, hash: parent.hash, at: parent.at };
};

interface Chained {
  readonly events: readonly StoredEvent[];
  readonly summary: SessionSummary;
  readonly account: Account | undefined;
}

const turnOf = ({ turn }: NewEvent, current: number, last: number): number => {
  if (turn === 'next') return last + 1;
  return turn === 'current' ? current : turn;
};

/**
 * Assigns each event its seq, turn, time and hash. Folds the summary along the way, so that a new turn gets the
 * highest number so far plus one. This also holds after a fork or an event with an explicit turn.
 */
const chainEvents = (request: AppendRequest, start: Start, seals: readonly Seal[] | undefined): Chained => {
  let { seq, hash, summary, account } = start;
  const at = Math.max(request.at, start.at);
  const events = request.events.map((event, place): StoredEvent => {
    const { turn = 0, lastTurn = 0 } = summary ?? {};
    const header = {
      session: request.session,
      seq: ++seq,
      at,
      turn: turnOf(event, turn, lastTurn),
      run: event.run,
      type: event.type,
      version: event.version,
      actor: event.actor,
    };
    const { salt, digest } = seals?.[place] ?? sealPayload(event.payload);
    hash = new Uint8Array(eventHash(hash, header, digest));
    const body = { kind: 'bytes', salt, bytes: event.payload } as const;
    const stored: StoredEvent = { ...header, opensTurn: opensTurn(summary, header), body, hash };
    account = accountAfter(account, summary, stored);
    summary = summarize(summary, stored);
    return stored;
  });
  return { events, summary: summary!, account };
};

/**
 * Decides the outcome of one append. Every store shares this complete rule for which writer may append which event. A
 * store writes something only if the outcome is `appended`. `seals` holds the payload seals if they were computed
 * earlier.
 */
export const planAppend = (base: AppendBase, request: AppendRequest, seals?: readonly Seal[]): AppendOutcome => {
  refuseForeignTypes(request);
  const { head } = base;
  if (base.key && request.key) {
    if (base.key.bodyHash !== request.key.bodyHash) return { outcome: 'key-reused' };
    return { outcome: 'duplicate', seq: base.key.seq, count: base.key.count };
  }
  if (request.creates && head) return { outcome: 'exists' };
  if (!request.creates && !head) return { outcome: 'missing' };
  if (head && isFenced(head, request.writer)) return { outcome: 'fenced', epoch: head.epoch };
  if (head?.summary.damaged && !request.whileDamaged) return { outcome: 'damaged', seq: head.summary.damaged.seq };
  if (head && !isOn(head, request)) {
    return { outcome: 'conflict', head: head.seq };
  }
  if (head && request.whileStatus && !request.whileStatus.includes(head.summary.status)) {
    return { outcome: 'status', status: head.summary.status };
  }
  if (head && request.whileHeldBy && !isHeldBy(head, request.whileHeldBy)) return { outcome: 'held' };
  const start = head ?? newStart(request, base);
  if (!start) return { outcome: 'missing' };
  const chained = chainEvents(request, start, seals);
  const { events } = chained;
  return { outcome: 'appended', events, previous: start.hash, head: headAfter(base, request, chained) };
};

const headAfter = (
  { head, parent }: AppendBase,
  request: AppendRequest,
  { events, summary, account }: Chained,
): Head => {
  const last = events.at(-1)!;
  const point = request.creates?.parent;
  return {
    workspace: request.workspace,
    session: request.session,
    root: head?.root ?? parent?.head.root ?? request.session,
    parent: head?.parent ?? (point && { session: point.session, seq: point.seq }),
    seq: last.seq,
    hash: last.hash,
    at: last.at,
    epoch: (head?.epoch ?? 0) + (request.raisesEpoch ? 1 : 0),
    claim: request.raisesEpoch ? claimOf(Buffer.from(events[0]!.hash).toString('hex')) : (head?.claim ?? ''),
    summary,
    account,
    isListed: true,
  };
};
