import { apply, create } from 'mutative';
import { applyPatch, createPatch } from 'rfc6902';
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

/** What a caller's function is given to change. Under `facts`, `scratch` and `own` anything that is JSON goes. */
export type StateDraft = { -readonly [Part in keyof State]: Record<string, State[Part][string]> };
export type Mutation = (draft: StateDraft) => void;

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

interface RawPatch {
  readonly op: string;
  readonly path: string;
  readonly value?: unknown;
}

/** The libraries' own types unfold JSON without end. */
const produce = create as unknown as (
  base: State,
  mutate: (draft: StateDraft) => void,
  options: { readonly enablePatches: { readonly pathAsArray: false; readonly arrayLengthAssignment: false } },
) => readonly [State, readonly RawPatch[], readonly RawPatch[]];
const applyPatches = apply as unknown as (base: State, patches: readonly StoredOperation[]) => State;
const applyInPlace = applyPatch as unknown as (
  draft: StateDraft,
  patch: readonly PatchOperation[],
) => readonly (Error | null)[];

const diffOf = createPatch as unknown as (before: unknown, after: unknown) => readonly StoredOperation[];

const operationsOf = (patches: readonly RawPatch[]): readonly StoredOperation[] =>
  patches.map(({ op, path, value }) => ({ op, path, ...(op !== 'remove' && { value }) }) as StoredOperation);

export const valueAt = (state: State, pointer: string): unknown =>
  segmentsOfPointer(pointer).reduce<unknown>(
    (value, segment) =>
      value !== null && typeof value === 'object' ? (value as Record<string, unknown>)[segment] : undefined,
    state,
  );

/** The array that a path goes into, when it does: what an index means depends on everything in it. */
const arrayOn = (state: State, pointer: string): string | undefined => {
  const segments = segmentsOfPointer(pointer);
  for (let length = 1; length < segments.length; length++) {
    const prefix = pointerOf(...segments.slice(0, length));
    if (Array.isArray(valueAt(state, prefix))) return prefix;
  }
  return undefined;
};

/** Comparing two lists costs the product of their lengths. */
const maxComparedItems = 1_000_000;

const smallestArrayDelta = (path: string, before: readonly Json[], after: readonly Json[]) => {
  if (before.length * after.length > maxComparedItems) return [{ op: 'replace', path, value: after } as const];
  return diffOf(before, after).map((operation) => ({ ...operation, path: path + operation.path }));
};

/**
 * What an index means depends on the whole array: a delta that reaches into one first says what the array was, so that it cannot be
 * applied where it was another, and then has the fewest operations that lead from the one to the other.
 */
const withArrayTests = (before: State, after: State, delta: readonly StoredOperation[]): readonly StoredOperation[] => {
  const arrays = new Set(delta.flatMap(({ path }) => arrayOn(before, path) ?? []));
  if (arrays.size === 0) return delta;
  const inArrays = [...arrays].flatMap((path): readonly StoredOperation[] => {
    const [old, now] = [valueAt(before, path) as Json[], valueAt(after, path)];
    const operations = Array.isArray(now) ? smallestArrayDelta(path, old, now) : [];
    return operations.length === 0 ? [] : [{ op: 'test', path, value: old }, ...operations];
  });
  return [...inArrays, ...delta.filter(({ path }) => arrayOn(before, path) === undefined)];
};

/** Lets a caller's function, or a patch, work on a draft; what comes out is the smallest delta and its inverse. */
export const changeState = (before: State, change: Mutation | readonly PatchOperation[]): StateChange => {
  const mutate: Mutation = typeof change === 'function' ? change : (draft) => applyOperations(draft, change);
  const [state, delta, inverse] = produce(before, mutate, {
    enablePatches: { pathAsArray: false, arrayLengthAssignment: false },
  });
  return {
    state,
    delta: withArrayTests(before, state, byEntry(before, state, operationsOf(delta))),
    inverse: withArrayTests(state, before, byEntry(state, before, operationsOf(inverse))),
  };
};

/** A collection that was replaced as a whole is told entry by entry, so that every delta says which entries it changes. */
const byEntry = (before: State, after: State, delta: readonly StoredOperation[]): readonly StoredOperation[] => {
  const isRecord = (value: unknown) => value !== null && typeof value === 'object' && !Array.isArray(value);
  return delta.flatMap((operation): readonly StoredOperation[] => {
    const { path } = operation;
    if (segmentsOfPointer(path).length > 1) return [operation];
    const [old, now] = [valueAt(before, path), valueAt(after, path)];
    if (!isRecord(old) || !isRecord(now)) return [operation];
    return diffOf(old, now).map((each) => ({ ...each, path: path + each.path }));
  });
};

const applyOperations = (draft: StateDraft, operations: readonly PatchOperation[]): void => {
  for (const operation of operations) {
    const [failure] = applyInPlace(draft, [operation]);
    if (failure) throw stateInvalid([{ path: operation.path, message: `${operation.op} failed: ${failure.message}` }]);
  }
};

/** Applies a stored delta. What was valid when it was committed is not judged again. */
export const applyDelta = (state: State, delta: readonly StoredOperation[]): State => {
  const operations = delta.filter(({ op }) => op !== 'test');
  return operations.length === 0 ? state : applyPatches(state, operations);
};

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
