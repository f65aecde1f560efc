import type { Json } from '../../../schema/json.ts';
import { type Collection, collections, type State, type StoredOperation } from '../../../schema/state.ts';
import { isSameJson, lastOf, patchSteps } from './patch-between.ts';

type Entry<C extends Collection> = State[C][string];

export interface EntryChange<T> {
  readonly id: string;
  /** The earlier value. Absent for an added entry. */
  readonly before?: T;
  /** The later value. Absent for a removed entry. */
  readonly after?: T;
}

/** The changes between two states, by collection, and as a patch from the first to the second. */
export type StateDiff = { readonly [C in Collection]: readonly EntryChange<Entry<C>>[] } & {
  readonly own: readonly EntryChange<Json>[];
  readonly patch: readonly StoredOperation[];
};

type Changes = readonly EntryChange<unknown>[];
type Entries = Readonly<Record<string, unknown>>;

function* changesOf(before: Entries, after: Entries): Generator<void, Changes, void> {
  if (before === after) return [];
  const ids = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  const changes: EntryChange<unknown>[] = [];
  for (const id of ids) {
    const had = Object.hasOwn(before, id);
    const has = Object.hasOwn(after, id);
    const isSame = had && has && isSameJson(before[id], after[id]);
    if (!isSame) changes.push({ id, ...(had && { before: before[id] }), ...(has && { after: after[id] }) });
    yield;
  }
  return changes;
}

/** Compares two states in steps, so that the comparison of large ones can be interrupted. */
export function* diffSteps(before: State, after: State): Generator<void, StateDiff, void> {
  const changes: Record<string, Changes> = {};
  for (const each of collections) changes[each] = yield* changesOf(before[each], after[each]);
  changes.own = yield* changesOf(before.own, after.own);
  return { ...changes, patch: yield* patchSteps(before, after) } as unknown as StateDiff;
}

export const diffStates = (before: State, after: State): StateDiff => lastOf(diffSteps(before, after));

export const isEmptyDiff = ({ patch }: StateDiff): boolean => patch.length === 0;
