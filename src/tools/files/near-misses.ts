const maxLines = 50_000;
const maxLineChars = 300;
const shown = 3;

const squeezed = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();

const pairsOf = (text: string): ReadonlySet<string> =>
  new Set(Array.from({ length: Math.max(0, text.length - 1) }, (_, at) => text.slice(at, at + 2)));

/** Dice's coefficient of letter pairs: 1 for equal texts, 0 for nothing in common. */
const likeness = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  if (a.size + b.size === 0) return 0;
  let common = 0;
  for (const pair of a) if (b.has(pair)) common++;
  return (2 * common) / (a.size + b.size);
};

/** The lines most similar to the first line of `wanted`, best first. */
export const nearMisses = (text: string, wanted: string): readonly string[] => {
  const first = wanted.split('\n').find((line) => line.trim() !== '') ?? wanted;
  const sought = pairsOf(squeezed(first).slice(0, maxLineChars));
  return text
    .split('\n', maxLines)
    .map((line, index) => ({ line, index, score: likeness(sought, pairsOf(squeezed(line).slice(0, maxLineChars))) }))
    .filter(({ score }) => score > 0.5)
    .sort((a, b) => b.score - a.score || a.index - b.index)
    .slice(0, shown)
    .map(({ line, index }) => `${index + 1}\t${line.slice(0, maxLineChars).toWellFormed()}`);
};
