import { displayWidth, padEnd, padStart, truncate } from './display-width.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Takes the width that the others leave; its text is cut where that is too little. */
  readonly flexible?: true;
  /** The first to go when the table is too wide has the lowest number; without one, a column stays. */
  readonly leaves?: number;
}

const gap = '  ';
const leastFlexible = 8;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

/** Which columns fit, by index, and how wide each is. */
const columnsThatFit = (columns: readonly Column[], natural: readonly number[], width: number) => {
  const kept = columns.map((_, index) => index);
  const least = (index: number): number =>
    columns[index]!.flexible ? Math.min(leastFlexible, natural[index]!) : natural[index]!;
  const needed = (): number => sum(kept.map(least)) + gap.length * (kept.length - 1);
  const leaving = kept
    .filter((index) => columns[index]!.leaves !== undefined)
    .sort((a, b) => columns[a]!.leaves! - columns[b]!.leaves!);
  for (const index of leaving) {
    if (needed() <= width) break;
    kept.splice(kept.indexOf(index), 1);
  }
  // What stands first names the row.
  while (needed() > width && kept.length > 1) kept.pop();
  const spare = width - needed();
  return kept.map((index) => ({ index, width: Math.min(natural[index]!, least(index) + Math.max(0, spare)) }));
};

/** As much as fits of which columns are not there and how to see them. */
const leftOutNote = (left: readonly Column[], width: number): string => {
  const count = left.length === 1 ? '1 column left out' : `${left.length} columns left out`;
  const named = `${count}: ${left.map(({ title }) => title.toLowerCase()).join(', ')}`;
  const notes = [`${named}; widen the terminal or use --json`, `${named}; see --json`, `${count}; see --json`];
  return notes.find((note) => displayWidth(note) <= width) ?? truncate(count, width);
};

/**
 * Lines of a table that fits the width, and one that tells what had to be left out for that. `paint` colours a cell after it was
 * measured; the header is row -1, and so is what was left out.
 */
export const layOutTable = (
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  paint: (text: string, column: Column, row: number) => string = (text) => text,
): readonly string[] => {
  const all = [columns.map(({ title }) => title), ...rows];
  const natural = columns.map((_, index) => all.reduce((max, row) => Math.max(max, displayWidth(row[index]!)), 0));
  const fit = columnsThatFit(columns, natural, width);
  const lines = all.map((row, number) =>
    fit
      .map(({ index, width: cellWidth }, place) => {
        const column = columns[index]!;
        const text = column.flexible ? truncate(row[index]!, cellWidth) : row[index]!;
        if (column.align === 'right') return paint(padStart(text, cellWidth), column, number - 1);
        return paint(place === fit.length - 1 ? text : padEnd(text, cellWidth), column, number - 1);
      })
      .join(gap)
      .trimEnd(),
  );
  const left = columns.filter((_, index) => !fit.some((each) => each.index === index));
  return left.length === 0 ? lines : [...lines, paint(leftOutNote(left, width), columns[0]!, -1)];
};
