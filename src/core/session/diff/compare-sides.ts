import { alignSteps, type Pair } from './align.ts';
import type { Digested, Side, SideCall, SideCommit, SideMessage } from './side.ts';

/**
 * An item of both sides, or of one. `changed` means that two items belong together, but differ: a call with another
 * outcome or input, a message with other words.
 */
export interface Matched<T> {
  readonly match: 'same' | 'changed' | 'only-before' | 'only-after';
  readonly before?: T | undefined;
  readonly after?: T | undefined;
}

const matchOf = ({ before, after }: Pair<Digested<unknown>>): Matched<unknown>['match'] => {
  if (!before) return 'only-after';
  if (!after) return 'only-before';
  return before.key === after.key && before.end === after.end ? 'same' : 'changed';
};

function* matchSteps<T>(
  before: readonly Digested<T>[],
  after: readonly Digested<T>[],
): Generator<void, readonly Matched<T>[], void> {
  const pairs = yield* alignSteps(
    before,
    after,
    ({ key }) => key,
    ({ kind }) => kind,
  );
  return pairs.map((pair) => ({
    match: matchOf(pair),
    ...(pair.before && { before: pair.before.item }),
    ...(pair.after && { after: pair.after.item }),
  }));
}

/** A call that began before both sides part is still running where its end is missing. */
const withRunning = (calls: readonly Digested<SideCall>[], others: readonly Digested<SideCall>[]) => {
  const known = new Set(calls.map(({ key }) => key));
  const missing = others.filter(({ key, item }) => item.input === undefined && !known.has(key));
  const running = missing.map(({ item, key, kind }) => {
    const { session, seq, turn, callId, tool, said } = item;
    const call: SideCall = { session, seq, turn, callId, tool, outcome: 'running', ...(said && { said }) };
    return { item: call, key, kind, end: 'running' };
  });
  return running.length > 0 ? [...running, ...calls] : calls;
};

export interface ComparedSides {
  readonly messages: readonly Matched<SideMessage>[];
  readonly calls: readonly Matched<SideCall>[];
  readonly commits: readonly Matched<SideCommit>[];
}

/** Aligns what happened on two sides, in steps: calls by tool and input, messages by what they say. */
export function* compareSteps(before: Side, after: Side): Generator<void, ComparedSides, void> {
  return {
    messages: yield* matchSteps(before.messages, after.messages),
    calls: yield* matchSteps(withRunning(before.calls, after.calls), withRunning(after.calls, before.calls)),
    commits: yield* matchSteps(before.commits, after.commits),
  };
}
