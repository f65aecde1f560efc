import { create } from 'mutative';
import { createPatch } from 'rfc6902';
import type { ZodType } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { Json } from '../../schema/json.ts';
import {
  type Collection,
  collections,
  ledgerEntries,
  type PatchOperation,
  pointerOf,
  type State,
  type StoredOperation,
  segmentsOfPointer,
} from '../../schema/state.ts';
import { applyOperations } from './apply-operations.ts';

/** What a caller's function is given to change. Under `facts`, `scratch` and `own` anything that is JSON goes. */
export type StateDraft = { -readonly [Part in keyof State]: Record<string, State[Part][string]> };
export type Mutation = (draft: StateDraft) => unknown;

export interface StateChange {
  readonly state: State;
  readonly delta: readonly StoredOperation[];
  readonly inverse: readonly StoredOperation[];
}

export interface StateProblem {
  readonly path: string;
  readonly message: string;
}

export const stateInvalid = (problems: readonly StateProblem[]): PerdureError =>
  new PerdureError(
    'STATE_INVALID',
    `the state would not be valid: ${problems
      .slice(0, 5)
      .map(({ path, message }) => `${path || '/'}: ${message}`)
      .join('; ')}; nothing was committed`,
    { details: { problems } },
  );

/** The library's own types unfold JSON without end. */
const produce = create as unknown as (base: State, mutate: (draft: StateDraft) => void) => State;
const diffOf = createPatch as unknown as (before: unknown, after: unknown) => readonly StoredOperation[];

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  value !== null && typeof value === 'object' && !Array.isArray(value);

export const valueAt = (state: State, pointer: string): unknown =>
  segmentsOfPointer(pointer).reduce<unknown>(
    (value, segment) =>
      value !== null && typeof value === 'object' && Object.hasOwn(value, segment)
        ? (value as Record<string, unknown>)[segment]
        : undefined,
    state,
  );

/** The array that a path goes into, when it does: what an index means depends on everything in it. */
const arrayOn = (value: unknown, segments: readonly string[]): readonly string[] | undefined => {
  let here = value;
  for (const [depth, segment] of segments.entries()) {
    if (Array.isArray(here)) return segments.slice(0, depth);
    here = isRecord(here) && Object.hasOwn(here, segment) ? here[segment] : undefined;
  }
  return undefined;
};

/** Comparing two lists costs the product of their lengths. */
const maxComparedItems = 1_000_000;

const isTooLong = (before: unknown, after: unknown): boolean =>
  Array.isArray(before) && Array.isArray(after) && before.length * after.length > maxComparedItems;

/** The fewest operations from one value of an entry to another; one that reaches into an array first says what the array was. */
const entryDelta = (entry: string, before: unknown, after: unknown): readonly StoredOperation[] => {
  if (isTooLong(before, after)) return [{ op: 'replace', path: entry, value: after as Json }];
  const operations = diffOf(before, after);
  const arrays = new Map(
    operations.flatMap(({ path }) => {
      const array = arrayOn(before, segmentsOfPointer(path));
      return array ? [[pointerOf(...array), array] as const] : [];
    }),
  );
  const tests = [...arrays].map(([path, segments]) => ({
    op: 'test' as const,
    path: entry + path,
    value: segments.reduce<unknown>((value, segment) => (value as Record<string, unknown>)[segment], before) as Json,
  }));
  return [...tests, ...operations.map((operation) => ({ ...operation, path: entry + operation.path }))];
};

/** What stands at a path on either side; undefined where nothing does. */
interface Difference {
  readonly path: string;
  readonly old: unknown;
  readonly now: unknown;
}

type Values = Readonly<Record<string, unknown>>;

const ownValue = (values: Values, key: string): unknown => (Object.hasOwn(values, key) ? values[key] : undefined);

const keysThatDiffer = (old: Values, now: Values): readonly string[] => [
  ...Object.keys(old).filter((key) => old[key] !== ownValue(now, key)),
  ...Object.keys(now).filter((key) => !Object.hasOwn(old, key)),
];

/** Entry by entry. Those that are the same object need not be looked into, and a change leaves most of them so. */
const differencesBetween = (before: State, after: State): readonly Difference[] =>
  keysThatDiffer(before as unknown as Values, after as unknown as Values).flatMap((part): readonly Difference[] => {
    const [old, now]: readonly unknown[] = [before[part as keyof State], after[part as keyof State]];
    if (!isRecord(old) || !isRecord(now)) return [{ path: pointerOf(part), old, now }];
    return keysThatDiffer(old, now).map((id) => ({
      path: pointerOf(part, id),
      old: ownValue(old, id),
      now: ownValue(now, id),
    }));
  });

const operationsFor = (path: string, from: unknown, to: unknown): readonly StoredOperation[] => {
  if (to === undefined) return [{ op: 'remove', path }];
  if (from === undefined) return [{ op: 'add', path, value: to as Json }];
  return entryDelta(path, from, to);
};

const patched = (before: State, operations: readonly PatchOperation[]): State => {
  const result = applyOperations(before, operations);
  if ('failed' in result) throw stateInvalid([result.failed]);
  return result.value as State;
};

const mutated = (before: State, mutation: Mutation): State =>
  produce(before, (draft) => {
    const returned = mutation(draft);
    if (!(returned instanceof Promise)) return;
    returned.catch(() => undefined);
    throw new PerdureError('INVALID_INPUT', 'a change of the state cannot wait for anything: await first, then commit');
  });

/** Lets a caller's function, or a patch, change the state; what comes out is the smallest delta and its inverse. */
export const changeState = (before: State, change: Mutation | readonly PatchOperation[]): StateChange => {
  const state = typeof change === 'function' ? mutated(before, change) : patched(before, change);
  const differences = differencesBetween(before, state);
  return {
    state,
    delta: differences.flatMap(({ path, old, now }) => operationsFor(path, old, now)),
    inverse: differences.flatMap(({ path, old, now }) => operationsFor(path, now, old)),
  };
};

/** Applies a stored delta, which applied when it was committed. */
export const applyDelta = (state: State, delta: readonly StoredOperation[]): State => patched(state, delta);

const isCollection = (name: string): name is Collection => Object.hasOwn(ledgerEntries, name);

const entryProblems = (collection: Collection, id: string, entry: unknown): readonly StateProblem[] => {
  const parsed = (ledgerEntries[collection] as ZodType).safeParse(entry);
  if (parsed.success) return [];
  return parsed.error.issues.map(({ path, message }) => ({
    path: pointerOf(collection, id, ...path.map(String)),
    message,
  }));
};

const collectionProblems = (state: State, collection: Collection): readonly StateProblem[] => {
  const entries: unknown = state[collection];
  if (entries === null || typeof entries !== 'object' || Array.isArray(entries)) {
    return [{ path: pointerOf(collection), message: 'expected a record by id' }];
  }
  return Object.entries(entries).flatMap(([id, entry]) => entryProblems(collection, id, entry));
};

/** What is wrong with the ledger after a change. Looks at the entries that the delta touched, not at the rest. */
export const ledgerProblems = (state: State, delta: readonly StoredOperation[]): readonly StateProblem[] => {
  const problems = delta.flatMap(({ path }): readonly StateProblem[] => {
    const [name, id] = segmentsOfPointer(path);
    if (name === undefined) return collections.flatMap((each) => collectionProblems(state, each));
    if (name === 'own') return [];
    if (!isCollection(name))
      return [{ path, message: `there is no ${name} in a state; there are: ${collections.join(', ')}, own` }];
    if (id === undefined) return collectionProblems(state, name);
    return Object.hasOwn(state[name], id) ? entryProblems(name, id, state[name][id]) : [];
  });
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()];
};

/** The entries that a delta changes, as paths of two segments; a whole collection that was replaced counts as itself. */
export const entriesTouched = (delta: readonly StoredOperation[]): readonly string[] => [
  ...new Set(
    delta.flatMap(({ op, path }) => (op === 'test' ? [] : [pointerOf(...segmentsOfPointer(path).slice(0, 2))])),
  ),
];

export const touchesOwn = (delta: readonly StoredOperation[]): boolean =>
  delta.some(({ path }) => path === '' || segmentsOfPointer(path)[0] === 'own');
