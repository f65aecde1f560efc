import { isPerdureError } from '../../schema/error.ts';
import type { EventType, PayloadOf } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { emptyState, type State } from '../../schema/state.ts';
import type { SessionCopy, StoredEvent } from '../ports/store.ts';
import { decodePayload } from '../session/events/event-codec.ts';
import { ledgerProblems } from '../session/runs/ledger-problems.ts';
import { tryDelta } from '../session/state/state-change.ts';
import { bundleInvalid, bundleTooLarge } from './bundle-format.ts';

/**
 * The state of a session in a bundle after an event. A field is undefined if the event that sets it was redacted or
 * was written by a later release.
 */
interface Place {
  readonly seq: number;
  readonly turn: number;
  readonly lastTurn: number;
  readonly messages: number | undefined;
  readonly state: State | undefined;
}

const start: Place = { seq: 0, turn: 0, lastTurn: 0, messages: 0, state: emptyState };

/** Rejects a fork or rewind whose copied values differ from those at the point that it continues from. */
const refuseOther = ({ session, seq }: StoredEvent, place: Place, copied: Partial<Place>): void => {
  const wrong = (['turn', 'lastTurn', 'messages'] as const).find(
    (name) => copied[name] !== undefined && place[name] !== undefined && copied[name] !== place[name],
  );
  if (wrong) {
    throw bundleInvalid(`event ${seq} of ${session} says that ${wrong} is ${copied[wrong]}, but it is ${place[wrong]}`);
  }
};

const stateAfter = (before: State, { session, seq }: StoredEvent, commit: PayloadOf<'state.committed'>): State => {
  const result = tryDelta(before, commit.delta);
  const [problem] = 'failed' in result ? [result.failed] : ledgerProblems(result.state, commit.delta);
  if (problem)
    throw bundleInvalid(
      `event ${seq} of ${session} cannot be applied to the state: ${problem.path}: ${problem.message}`,
    );
  return (result as { readonly state: State }).state;
};

/**
 * Returns the payload of an event. Returns undefined if the payload cannot be read, because the store decides about
 * such an event.
 */
const payloadIfKnown = <T extends EventType>(event: StoredEvent, type: T): PayloadOf<T> | undefined => {
  try {
    return decodePayload(event, type);
  } catch (error) {
    if (isPerdureError(error)) return undefined;
    throw error;
  }
};

const isSame = (place: Place, change: Partial<Place>): boolean =>
  Object.entries(change).every(([name, value]) => place[name as keyof Place] === value);

/**
 * Folds the sessions of a bundle as far as they can be read. Checks that each commit can be applied, and that forks
 * and rewinds repeat the right values.
 */
export class CopiedStates {
  readonly #places = new Map<SessionId, Place[]>();
  readonly #parents = new Map<SessionId, SessionCopy['parent']>();
  readonly #maxCommitBytes: number;
  #commitBytes = 0;

  constructor({ maxCommitBytes = Number.POSITIVE_INFINITY }: { readonly maxCommitBytes?: number | undefined } = {}) {
    this.#maxCommitBytes = maxCommitBytes;
  }

  add({ session, parent, events }: SessionCopy): void {
    this.#parents.set(session, parent);
    for (const event of events) this.#add(event);
  }

  #add(event: StoredEvent): void {
    const { session, seq, turn } = event;
    const before = this.#at(session, seq - 1);
    const change = { turn, lastTurn: Math.max(before.lastTurn, turn), ...this.#change(before, event) };
    if (isSame(before, change)) return;
    const places = this.#places.get(session) ?? [];
    places.push({ ...before, ...change, seq });
    this.#places.set(session, places);
  }

  #change(before: Place, event: StoredEvent): Partial<Place> {
    switch (event.type) {
      case 'message.appended':
        return { messages: before.messages === undefined ? undefined : before.messages + 1 };
      case 'state.committed': {
        this.#count(event);
        const commit = payloadIfKnown(event, 'state.committed');
        return { state: commit && before.state && stateAfter(before.state, event, commit) };
      }
      case 'session.forked': {
        const fork = payloadIfKnown(event, 'session.forked');
        if (fork) refuseOther(event, before, { turn: event.turn, lastTurn: fork.lastTurn, messages: fork.messages });
        return {};
      }
      case 'session.rewound': {
        const rewind = payloadIfKnown(event, 'session.rewound');
        if (!rewind) return { messages: undefined, state: undefined };
        const { messages, state, turn } = this.#at(event.session, rewind.to);
        refuseOther(event, { ...before, messages, turn }, { turn: event.turn, messages: rewind.messages });
        return { messages, state };
      }
      case 'session.quarantined':
        // An export ends before the damaged event, and so before the quarantine.
        throw bundleInvalid(`event ${event.seq} of ${event.session} quarantines it, which no bundle contains`);
      default:
        return {};
    }
  }

  /**
   * Counts the bytes of commits and rejects too many. All states stay in memory, because a fork or a rewind may go
   * back to any of them.
   */
  #count({ body }: StoredEvent): void {
    if (body.kind === 'bytes') this.#commitBytes += body.bytes.length;
    if (this.#commitBytes > this.#maxCommitBytes)
      throw bundleTooLarge('the total of its commits', this.#maxCommitBytes);
  }

  #at(session: SessionId, seq: number): Place {
    const own = this.#places.get(session)?.findLast((each) => each.seq <= seq);
    if (own) return own;
    const parent = this.#parents.get(session);
    return parent ? this.#at(parent.session, Math.min(parent.seq, seq)) : start;
  }
}
