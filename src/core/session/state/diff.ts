import type { Json } from '../../../schema/json.ts';
import { type Collection, collections, type State, type StoredOperation } from '../../../schema/state.ts';
import { isSameJson, patchBetween } from './patch-between.ts';

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

const changesOf = <T>(
  before: Readonly<Record<string, T>>,
  after: Readonly<Record<string, T>>,
): readonly EntryChange<T>[] => {
  if (before === after) return [];
  const ids = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return ids.flatMap((id): EntryChange<T>[] => {
    const had = Object.hasOwn(before, id);
    const has = Object.hasOwn(after, id);
    if (had && has && isSameJson(before[id], after[id])) return [];
    return [{ id, ...(had && { before: before[id] as T }), ...(has && { after: after[id] as T }) }];
  });
};

export const diffStates = (before: State, after: State): StateDiff => ({
  ...(Object.fromEntries(
    collections.map((each) => [each, changesOf<unknown>(before[each], after[each])]),
  ) as unknown as {
    [C in Collection]: readonly EntryChange<Entry<C>>[];
  }),
  own: changesOf(before.own, after.own),
  patch: patchBetween(before, after),
});

export const isEmptyDiff = ({ patch }: StateDiff): boolean => patch.length === 0;
