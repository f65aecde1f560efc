import { isPerdureError } from '../../schema/error.ts';
import type { EventType, PayloadOf } from '../../schema/event.ts';
import type { Actor } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { Account, Reservation } from '../ports/ledger.ts';
import type { SummaryOwnership } from '../ports/ownership.ts';
import type { StoredEvent } from '../ports/store.ts';
import { decodePayload } from './events/event-codec.ts';

export const memberOf = (actor: Actor | undefined): string | undefined =>
  actor?.startsWith('member:') ? actor.slice('member:'.length) : undefined;

/** USD in millionths, rounded as the stores round them. */
export const microsOf = (usd: number): number => Math.floor(usd * 1e6 + 0.5);

/** The payload of an event. Undefined if it cannot be read, because an unreadable event counts for its size alone. */
const read = <T extends EventType>(event: StoredEvent, type: T): PayloadOf<T> | undefined => {
  try {
    return decodePayload(event, type);
  } catch (error) {
    if (isPerdureError(error)) return undefined;
    throw error;
  }
};

const reservationOf = (event: StoredEvent): Reservation | undefined => {
  const called = read(event, 'model.called');
  if (!called) return undefined;
  const { message, model, reservedTokens: tokens, reservedUsd, requestedBy } = called;
  const member = memberOf(requestedBy);
  return {
    message,
    model,
    at: event.at,
    tokens,
    ...(reservedUsd !== undefined && { micros: microsOf(reservedUsd) }),
    ...(member !== undefined && { member }),
  };
};

/**
 * The open reservation after an event. A session has one model request in flight at most. Its outcome releases the
 * reservation, and so does everything that shows that its worker is gone.
 */
const reservedAfter = (reserved: Reservation | undefined, event: StoredEvent): Reservation | undefined => {
  switch (event.type) {
    case 'model.called':
      return reservationOf(event);
    case 'message.abandoned':
      return reserved && read(event, event.type)?.message === reserved.message ? undefined : reserved;
    case 'model.completed':
    case 'model.failed':
    case 'run.started':
    case 'run.resumed':
    case 'run.ended':
      return undefined;
    default:
      return reserved;
  }
};

const canWork = ({ status, holder, waiting }: SessionSummary): boolean =>
  (status === 'open' || status === 'active') && holder === 'agent' && waiting === undefined;

const busyAfter = (busy: Account['busy'], before: SessionSummary, event: StoredEvent): Account['busy'] => {
  const { actor, run } = event;
  const begun = { run, member: memberOf(actor) };
  switch (event.type) {
    case 'input.admitted': {
      if (busy || !canWork(before)) return busy;
      const input = read(event, event.type);
      return input && (input.notBefore ?? 0) <= event.at ? { ...begun, run: input.run } : undefined;
    }
    case 'run.started':
    case 'run.resumed':
      return busy?.run === run ? busy : { ...begun, isUnchecked: true };
    case 'model.called':
      return busy?.isUnchecked ? { run, member: memberOf(read(event, event.type)?.requestedBy) } : busy;
    case 'cancel.requested':
    case 'run.ended':
      return busy?.run === run ? undefined : busy;
    case 'run.waiting':
    case 'session.paused':
    case 'session.closed':
    case 'session.archived':
    case 'session.handed':
    case 'session.rewound':
    case 'session.quarantined':
      return undefined;
    default:
      return busy;
  }
};

const bytesOf = ({ body }: StoredEvent): number => (body.kind === 'bytes' ? body.bytes.length : 0);

/** Folds the account. `summary` is the summary before the event. Only few events are decoded. */
export const accountAfter = (
  before: Account | undefined,
  summary: SessionSummary | undefined,
  event: StoredEvent,
): Account => {
  if (!before || !summary) {
    // A bundle can name anybody as the one who opened its session.
    const openedBy = event.imported ? undefined : memberOf(event.actor);
    return { ...(openedBy !== undefined && { openedBy }), bytes: bytesOf(event) };
  }
  const { openedBy } = before;
  const busy = busyAfter(before.busy, summary, event);
  const reserved = reservedAfter(before.reserved, event);
  return {
    ...(openedBy !== undefined && { openedBy }),
    bytes: before.bytes + bytesOf(event),
    ...(busy && { busy }),
    ...(reserved && { reserved }),
  };
};

/** The account of a session that no member opened here. It counts for the owner, who imported it. */
export const countedFor = (account: Account | undefined, { owner }: SummaryOwnership): Account | undefined =>
  account && owner && account.openedBy === undefined ? { ...account, openedBy: owner } : account;

/** The account without the run and the request in flight. No worker here continues them after an import. */
export const atRest = ({ busy: _, reserved: __, ...account }: Account): Account => account;
