import type { Json } from '../../../schema/json.ts';
import { pointerOf, segmentsOfPointer } from '../../../schema/pointer.ts';
import type { PatchOperation, State } from '../../../schema/state.ts';
import { isSameJson } from './patch-between.ts';
import { valueAt } from './state-change.ts';

/** An entry that differs between two branches. `base` is its value in their last common state. */
export interface DifferingEntry {
  readonly path: string;
  readonly base?: Json | undefined;
  readonly ours?: Json | undefined;
  readonly theirs?: Json | undefined;
}

export interface Merge {
  readonly operations: readonly PatchOperation[];
  readonly adopted: readonly string[];
  readonly conflicts: readonly DifferingEntry[];
}

const entriesOf = (state: State): readonly string[] =>
  Object.entries(state).flatMap(([part, entries]) => Object.keys(entries).map((id) => pointerOf(part, id)));

/** Whether the path is a tool counter. Counters belong to the session that made the calls, so they are not merged. */
export const isToolCounter = (path: string): boolean => path.startsWith('/toolsUsed/');

export const differingPaths = (ours: State, theirs: State): readonly string[] =>
  [...new Set([...entriesOf(ours), ...entriesOf(theirs)])]
    .filter((path) => !isToolCounter(path) && !isSameJson(valueAt(ours, path), valueAt(theirs, path)))
    .sort();

const isTheirsNew = ({ base, theirs }: DifferingEntry): boolean => !isSameJson(base, theirs);
const isOursNew = ({ base, ours }: DifferingEntry): boolean => !isSameJson(base, ours);

/**
 * Returns facts and pins that must be chosen together, because choosing entry by entry would leave a pin without its
 * fact.
 */
const tornPairs = (
  entries: readonly DifferingEntry[],
  ours: State,
  isTaken: (entry: DifferingEntry) => boolean,
): ReadonlySet<string> => {
  const byPath = new Map(entries.map((entry) => [entry.path, entry]));
  const isThere = (path: string): boolean => {
    const entry = byPath.get(path);
    return (entry && isTaken(entry) ? entry.theirs : valueAt(ours, path)) !== undefined;
  };
  const pairs = entries.flatMap(({ path }) => {
    const [part, id] = segmentsOfPointer(path);
    return part === 'pins' ? [[pointerOf('facts', id!), path] as const] : [];
  });
  return new Set(pairs.filter(([fact, pin]) => isThere(pin) && !isThere(fact)).flat());
};

const operationFor = ({ path, ours, theirs }: DifferingEntry): PatchOperation => {
  if (theirs === undefined) return { op: 'remove', path };
  return { op: ours === undefined ? 'add' : 'replace', path, value: theirs };
};

/** Merges entry by entry. Adopts entries that only the branch changed. `prefer` decides conflicts. */
export const mergeEntries = (entries: readonly DifferingEntry[], ours: State, prefer: 'ours' | 'theirs'): Merge => {
  const changedByBoth = (entry: DifferingEntry): boolean => isTheirsNew(entry) && isOursNew(entry);
  const torn = tornPairs(entries, ours, (entry) => (changedByBoth(entry) ? prefer === 'theirs' : isTheirsNew(entry)));
  const isConflict = (entry: DifferingEntry): boolean => torn.has(entry.path) || changedByBoth(entry);
  const taken = entries.filter((entry) => (isConflict(entry) ? prefer === 'theirs' : isTheirsNew(entry)));
  return {
    operations: taken.map(operationFor),
    adopted: taken.map(({ path }) => path),
    conflicts: entries.filter(isConflict),
  };
};
