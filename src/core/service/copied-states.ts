import { isPerdureError } from '../../schema/error.ts';
import type { PayloadOf } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { emptyState, type State } from '../../schema/state.ts';
import type { SessionCopy, StoredEvent } from '../ports/store.ts';
import { decodePayload } from '../session/event-codec.ts';
import { ledgerProblems } from '../session/ledger-problems.ts';
import { tryDelta } from '../session/state-change.ts';
import { bundleInvalid } from './read-bundle.ts';

/** Undefined where it is not known: a commit was redacted, or is of a release to come. */
interface StateAt {
  readonly seq: number;
  readonly state: State | undefined;
}

/** What is carried over comes in several commits, a pin perhaps before its fact. */
const checkedDelta = ({ delta, origin }: PayloadOf<'state.committed'>): PayloadOf<'state.committed'>['delta'] =>
  origin?.kind === 'carry' ? delta.filter(({ path }) => !path.startsWith('/pins/')) : delta;

const stateAfter = (before: State, { session, seq }: StoredEvent, commit: PayloadOf<'state.committed'>): State => {
  const result = tryDelta(before, commit.delta);
  const [problem] = 'failed' in result ? [result.failed] : ledgerProblems(result.state, checkedDelta(commit));
  if (problem) throw bundleInvalid(`event ${seq} of ${session} leads to no state: ${problem.path}: ${problem.message}`);
  return (result as { readonly state: State }).state;
};

/** What cannot be read is refused by the store. */
const payloadIfKnown = <T extends 'state.committed' | 'session.rewound'>(
  event: StoredEvent,
  type: T,
): PayloadOf<T> | undefined => {
  try {
    return decodePayload(event, type);
  } catch (error) {
    if (isPerdureError(error)) return undefined;
    throw error;
  }
};

/** Follows the states of the sessions of a bundle, as far as their commits can be read, and refuses one that leads to none. */
export class CopiedStates {
  readonly #states = new Map<SessionId, StateAt[]>();
  readonly #parents = new Map<SessionId, SessionCopy['parent']>();

  add({ session, parent, events }: SessionCopy): void {
    this.#parents.set(session, parent);
    for (const event of events) {
      if (event.type === 'state.committed') this.#committed(event);
      if (event.type === 'session.rewound') this.#rewound(event);
    }
  }

  #committed(event: StoredEvent): void {
    const commit = payloadIfKnown(event, 'state.committed');
    const before = this.#at(event.session, event.seq);
    this.#keep(event, commit && before && stateAfter(before, event, commit));
  }

  #rewound(event: StoredEvent): void {
    const rewind = payloadIfKnown(event, 'session.rewound');
    this.#keep(event, rewind && this.#at(event.session, rewind.to));
  }

  #keep({ session, seq }: StoredEvent, state: State | undefined): void {
    const states = this.#states.get(session) ?? [];
    states.push({ seq, state });
    this.#states.set(session, states);
  }

  #at(session: SessionId, seq: number): State | undefined {
    const own = this.#states.get(session)?.findLast((each) => each.seq <= seq);
    if (own) return own.state;
    const parent = this.#parents.get(session);
    return parent ? this.#at(parent.session, Math.min(parent.seq, seq)) : emptyState;
  }
}
