import { isPerdureError } from '../../schema/error.ts';
import type { EventType, PayloadOf } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { emptyState, type State } from '../../schema/state.ts';
import type { SessionCopy, StoredEvent } from '../ports/store.ts';
import { decodePayload } from '../session/events/event-codec.ts';
import { ledgerProblems } from '../session/runs/ledger-problems.ts';
import { tryDelta } from '../session/state/state-change.ts';
import { bundleInvalid, bundleTooLarge } from './bundle-format.ts';

/** A session of a bundle after an event. Undefined is what is not known: the event that tells was redacted, or is of a release to come. */
interface Place {
  readonly seq: number;
  readonly turn: number;
  readonly lastTurn: number;
  readonly messages: number | undefined;
  readonly state: State | undefined;
}

const start: Place = { seq: 0, turn: 0, lastTurn: 0, messages: 0, state: emptyState };

/** What a fork and a rewind repeat of the place that they go on from. */
const refuseOther = ({ session, seq }: StoredEvent, place: Place, told: Partial<Place>): void => {
  const wrong = (['turn', 'lastTurn', 'messages'] as const).find(
    (name) => told[name] !== undefined && place[name] !== undefined && told[name] !== place[name],
  );
  if (wrong) {
    throw bundleInvalid(`event ${seq} of ${session} tells ${told[wrong]} as ${wrong} where there were ${place[wrong]}`);
  }
};

const stateAfter = (before: State, { session, seq }: StoredEvent, commit: PayloadOf<'state.committed'>): State => {
  const result = tryDelta(before, commit.delta);
  const [problem] = 'failed' in result ? [result.failed] : ledgerProblems(result.state, commit.delta);
  if (problem) throw bundleInvalid(`event ${seq} of ${session} leads to no state: ${problem.path}: ${problem.message}`);
  return (result as { readonly state: State }).state;
};

/** What cannot be read is refused by the store. */
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

/** Follows the sessions of a bundle, as far as they can be read: a commit leads to a state, a fork and a rewind say what was there. */
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
      default:
        return {};
    }
  }

  /** A fork or a rewind may go back to any of their states: all are held. */
  #count({ body }: StoredEvent): void {
    if (body.kind === 'bytes') this.#commitBytes += body.bytes.length;
    if (this.#commitBytes > this.#maxCommitBytes) throw bundleTooLarge('all that it commits', this.#maxCommitBytes);
  }

  #at(session: SessionId, seq: number): Place {
    const own = this.#places.get(session)?.findLast((each) => each.seq <= seq);
    if (own) return own;
    const parent = this.#parents.get(session);
    return parent ? this.#at(parent.session, Math.min(parent.seq, seq)) : start;
  }
}
