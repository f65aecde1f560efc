/** Edit distance of two words: the number of letters to change, add, remove, or swap with a neighbour. */
export const editDistance = (a: string, b: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let cost = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + same);
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      if (swapped) cost = Math.min(cost, beforeLast[j - 2]! + 1);
      row.push(cost);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length]!;
};

/** The known word that was probably meant. Undefined if none is similar enough. */
export const nearest = (word: string, known: readonly string[]): string | undefined => {
  if (word.length > 40) return undefined;
  const [best] = known
    .map((each) => ({ each, distance: each.startsWith(word) && word.length > 1 ? 1 : editDistance(word, each) }))
    .sort((a, b) => a.distance - b.distance);
  return best && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.each : undefined;
};
