/** The positions of two equal items, in the first and in the second list. */
type Match = readonly [before: number, after: number];

interface Window {
  readonly from: Match;
  readonly to: Match;
}

/** Up to this product of their lengths, two lists are compared item by item. Longer lists are split at unique items. */
const maxComparisons = 250_000;
const maxDepth = 24;

type Keys = readonly string[];
type Steps<T> = Generator<void, T, void>;

/** The longest common subsequence of two short lists. */
function* commonItems(a: Keys, b: Keys, { from: [a0, b0], to: [a1, b1] }: Window): Steps<Match[]> {
  const [rows, columns] = [a1 - a0, b1 - b0];
  const width = columns + 1;
  const lengths = new Uint32Array((rows + 1) * width);
  for (let i = rows - 1; i >= 0; i--) {
    for (let j = columns - 1; j >= 0; j--) {
      const [below, beside] = [lengths[(i + 1) * width + j]!, lengths[i * width + j + 1]!];
      const isSame = a[a0 + i] === b[b0 + j];
      lengths[i * width + j] = isSame ? lengths[(i + 1) * width + j + 1]! + 1 : Math.max(below, beside);
    }
    yield;
  }
  const matches: Match[] = [];
  for (let i = 0, j = 0; i < rows && j < columns; ) {
    if (a[a0 + i] === b[b0 + j]) matches.push([a0 + i++, b0 + j++]);
    else if (lengths[(i + 1) * width + j]! >= lengths[i * width + j + 1]!) i++;
    else j++;
  }
  return matches;
}

/** The positions of the items that a list has once within the window. */
const uniqueItems = (keys: Keys, from: number, to: number): ReadonlyMap<string, number> => {
  const places = new Map<string, number>();
  for (let place = from; place < to; place++) places.set(keys[place]!, places.has(keys[place]!) ? -1 : place);
  return places;
};

/** The longest series of matches that rises in both lists. The matches given rise in the first. */
const risingMatches = (matches: readonly Match[]): readonly Match[] => {
  const ends: number[] = [];
  const previous: number[] = [];
  for (const [place, [, after]] of matches.entries()) {
    let [low, high] = [0, ends.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (matches[ends[middle]!]![1] < after) low = middle + 1;
      else high = middle;
    }
    previous[place] = low > 0 ? ends[low - 1]! : -1;
    ends[low] = place;
  }
  const found: Match[] = [];
  for (let place = ends.at(-1) ?? -1; place >= 0; place = previous[place]!) found.push(matches[place]!);
  return found.reverse();
};

/** Matches each item with the next equal one of the second list. */
const nextMatches = (a: Keys, b: Keys, { from: [a0, b0], to: [a1, b1] }: Window): Match[] => {
  const places = new Map<string, number[]>();
  for (let place = b1 - 1; place >= b0; place--) {
    const same = places.get(b[place]!);
    if (same) same.push(place);
    else places.set(b[place]!, [place]);
  }
  const matches: Match[] = [];
  let last = b0 - 1;
  for (let place = a0; place < a1; place++) {
    const same = places.get(a[place]!);
    while (same && same.length > 0 && same.at(-1)! <= last) same.pop();
    const next = same?.pop();
    if (next === undefined) continue;
    matches.push([place, next]);
    last = next;
  }
  return matches;
};

function* matchesWithin(a: Keys, b: Keys, window: Window, depth: number): Steps<readonly Match[]> {
  let [[a0, b0], [a1, b1]] = [window.from, window.to];
  const start: Match[] = [];
  for (; a0 < a1 && b0 < b1 && a[a0] === b[b0]; a0++, b0++) start.push([a0, b0]);
  const end: Match[] = [];
  for (; a0 < a1 && b0 < b1 && a[a1 - 1] === b[b1 - 1]; a1--, b1--) end.push([a1 - 1, b1 - 1]);
  yield;
  const middle: Window = { from: [a0, b0], to: [a1, b1] };
  return [...start, ...(yield* middleMatches(a, b, middle, depth)), ...end.reverse()];
}

function* middleMatches(a: Keys, b: Keys, window: Window, depth: number): Steps<readonly Match[]> {
  const { from, to } = window;
  if (from[0] === to[0] || from[1] === to[1]) return [];
  if ((to[0] - from[0]) * (to[1] - from[1]) <= maxComparisons) return yield* commonItems(a, b, window);
  const [ours, theirs] = [uniqueItems(a, from[0], to[0]), uniqueItems(b, from[1], to[1])];
  yield;
  const unique = [...ours].flatMap(([key, place]): Match[] => {
    const other = theirs.get(key) ?? -1;
    return place >= 0 && other >= 0 ? [[place, other]] : [];
  });
  const anchors = risingMatches(unique);
  yield;
  if (anchors.length === 0 || depth >= maxDepth) return nextMatches(a, b, window);
  const matches: Match[] = [];
  let last: Match = from;
  for (const anchor of [...anchors, to]) {
    for (const match of yield* matchesWithin(a, b, { from: last, to: anchor }, depth + 1)) matches.push(match);
    if (anchor === to) break;
    matches.push(anchor);
    last = [anchor[0] + 1, anchor[1] + 1];
  }
  return matches;
}

/** Two items that belong together, or one item alone. */
export interface Pair<T> {
  readonly before?: T;
  readonly after?: T;
}

/**
 * Pairs the items of two lists in order, in steps: first those with equal keys, then those of the same kind between
 * them. An equal beginning or end of both lists never changes how the rest is paired.
 */
export function* alignSteps<T>(
  before: readonly T[],
  after: readonly T[],
  keyOf: (item: T) => string,
  kindOf?: (item: T) => string,
): Steps<readonly Pair<T>[]> {
  const [a, b] = [before.map(keyOf), after.map(keyOf)];
  yield;
  const matches = yield* matchesWithin(a, b, { from: [0, 0], to: [a.length, b.length] }, 0);
  const pairs: Pair<T>[] = [];
  let last: Match = [0, 0];
  for (const match of [...matches, [a.length, b.length] as const]) {
    const [gone, come] = [before.slice(last[0], match[0]), after.slice(last[1], match[1])];
    const isPaired = kindOf && gone.length > 0 && come.length > 0;
    if (isPaired) for (const pair of yield* alignSteps(gone, come, kindOf)) pairs.push(pair);
    else
      for (const pair of [...gone.map((item) => ({ before: item })), ...come.map((item) => ({ after: item }))])
        pairs.push(pair);
    if (match[0] < a.length && match[1] < b.length) pairs.push({ before: before[match[0]]!, after: after[match[1]]! });
    last = [match[0] + 1, match[1] + 1];
  }
  return pairs;
}
