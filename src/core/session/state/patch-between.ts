import type { Json } from '../../../schema/json.ts';
import { pointerOf } from '../../../schema/pointer.ts';
import type { StoredOperation } from '../../../schema/state.ts';

export type Values = Readonly<Record<string, unknown>>;
type List = readonly unknown[];

/**
 * The maximum number of item comparisons. Comparing two lists costs the product of their lengths. Beyond this limit
 * the list is replaced as a whole.
 */
const maxComparisons = 2_500;

export const isRecord = (value: unknown): value is Values => {
  if (value === null || typeof value !== 'object') return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
};

export const isSameJson = (one: unknown, other: unknown): boolean => {
  if (one === other) return true;
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) && one.length === other.length && one.every((item, index) => isSameJson(item, other[index]))
    );
  }
  if (!isRecord(one) || !isRecord(other)) return false;
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  );
};

const replace = (path: string, value: unknown): readonly StoredOperation[] => [
  { op: 'replace', path, value: value as Json },
];

function* recordPatch(path: string, before: Values, after: Values): Generator<void, readonly StoredOperation[], void> {
  const at = (key: string): string => path + pointerOf(key);
  const operations: StoredOperation[] = [];
  const names = Object.keys(before);
  for (const key of names) if (!Object.hasOwn(after, key)) operations.push({ op: 'remove', path: at(key) });
  yield;
  for (const key of names) {
    if (!Object.hasOwn(after, key)) continue;
    for (const operation of yield* patchSteps(before[key], after[key], at(key))) operations.push(operation);
    yield;
  }
  for (const key of Object.keys(after)) {
    if (!Object.hasOwn(before, key)) operations.push({ op: 'add', path: at(key), value: after[key] as Json });
  }
  return operations;
}

/** The length of the common prefix. */
const sharedItems = (one: List, other: List): number => {
  const most = Math.min(one.length, other.length);
  for (let count = 0; count < most; count++) if (!isSameJson(one[count], other[count])) return count;
  return most;
};

/** The minimum number of edits between the rests of both lists, for every pair of positions. */
const editCounts = (old: List, now: List): readonly (readonly number[])[] => {
  const counts = Array.from({ length: old.length + 1 }, (_, i) =>
    Array.from({ length: now.length + 1 }, (_, j) => Math.max(old.length - i, now.length - j)),
  );
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      counts[i]![j] = isSameJson(old[i], now[j])
        ? counts[i + 1]![j + 1]!
        : 1 + Math.min(counts[i + 1]![j + 1]!, counts[i + 1]![j]!, counts[i]![j + 1]!);
    }
  }
  return counts;
};

/** Emits the edits in ascending order, so that the items before each edit are already final. */
const editsBetween = (path: string, first: number, old: List, now: List): readonly StoredOperation[] => {
  const counts = editCounts(old, now);
  const edits: StoredOperation[] = [];
  for (let i = 0, j = 0; i < old.length || j < now.length; ) {
    const at = `${path}/${first + j}`;
    const left = counts[i]![j]!;
    const isPaired = i < old.length && j < now.length;
    if (isPaired && isSameJson(old[i], now[j])) {
      i++;
      j++;
    } else if (isPaired && counts[i + 1]![j + 1]! < left) {
      edits.push(...patchBetween(old[i++], now[j++], at));
    } else if (i < old.length && counts[i + 1]![j]! < left) {
      edits.push({ op: 'remove', path: at });
      i++;
    } else {
      edits.push({ op: 'add', path: at, value: now[j++] as Json });
    }
  }
  return edits;
};

const listPatch = (path: string, before: List, after: List): readonly StoredOperation[] => {
  const start = sharedItems(before, after);
  if (start === before.length && start === after.length) return [];
  const end = sharedItems(before.slice(start).reverse(), after.slice(start).reverse());
  const middle = (list: List): List => list.slice(start, list.length - end);
  const [old, now] = [middle(before), middle(after)];
  const isLong = Math.max(old.length, 1) * Math.max(now.length, 1) > maxComparisons;
  return isLong || after.length === 0 ? replace(path, after) : editsBetween(path, start, old, now);
};

/** The RFC 6902 patch from one JSON value to another, as small as possible in bounded time, computed in steps. */
export function* patchSteps(
  before: unknown,
  after: unknown,
  path = '',
): Generator<void, readonly StoredOperation[], void> {
  if (before === after) return [];
  if (Array.isArray(before) && Array.isArray(after)) return listPatch(path, before, after);
  return isRecord(before) && isRecord(after) ? yield* recordPatch(path, before, after) : replace(path, after);
}

/** Takes all steps at once, and returns their result. */
export const lastOf = <T>(steps: Generator<unknown, T, void>): T => {
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
};

export const patchBetween = (before: unknown, after: unknown, path = ''): readonly StoredOperation[] =>
  lastOf(patchSteps(before, after, path));
