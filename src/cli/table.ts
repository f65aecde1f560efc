import { breakAt, displayWidth, padEnd, padStart, truncate } from './display-width.ts';
import { shortIds, shortIdsNote } from './short-ids.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Takes the width that the others leave; its text is cut where that is too little. */
  readonly flexible?: true;
  /** The first to go when the table is too wide has the lowest number; without one, a column stays. */
  readonly leaves?: number;
  /** Of ids, in the same order: not to go, but to be shown by their end. */
  readonly shortens?: number;
  /** Of a flexible one: what is too long for it is not cut, but goes below its line. */
  readonly whole?: true;
}

const gap = '  ';
const leastFlexible = 8;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

interface Fit {
  /** By index, in their order. */
  readonly kept: readonly { readonly index: number; readonly width: number }[];
  readonly shortened: ReadonlySet<number>;
}

/** Which columns fit and how wide each is; `natural` and `short` are what they would take whole and shortened. */
const columnsThatFit = (
  columns: readonly Column[],
  natural: readonly number[],
  short: readonly number[],
  width: number,
): Fit => {
  const kept = columns.map((_, index) => index);
  const shortened = new Set<number>();
  const widthOf = (index: number): number => (shortened.has(index) ? short : natural)[index]!;
  const least = (index: number): number =>
    columns[index]!.flexible ? Math.min(leastFlexible, natural[index]!) : widthOf(index);
  const needed = (): number => sum(kept.map(least)) + gap.length * (kept.length - 1);
  const rank = ({ leaves, shortens }: Column): number | undefined => leaves ?? shortens;
  const giving = kept
    .filter((index) => rank(columns[index]!) !== undefined)
    .sort((a, b) => rank(columns[a]!)! - rank(columns[b]!)!);
  for (const index of giving) {
    if (needed() <= width) break;
    if (columns[index]!.shortens === undefined) kept.splice(kept.indexOf(index), 1);
    else shortened.add(index);
  }
  // What stands first names the row.
  while (needed() > width && kept.length > 1) kept.pop();
  const spare = Math.max(0, width - needed());
  return {
    kept: kept.map((index) => ({ index, width: Math.min(widthOf(index), least(index) + spare) })),
    shortened,
  };
};

/** As much as fits of which columns are not there and how to see them. */
const leftOutNote = (left: readonly Column[], width: number): string => {
  const count = left.length === 1 ? '1 column left out' : `${left.length} columns left out`;
  const named = `${count}: ${left.map(({ title }) => title.toLowerCase()).join(', ')}`;
  const notes = [`${named}; widen the terminal or use --json`, `${named}; see --json`, `${count}; see --json`];
  return notes.find((note) => displayWidth(note) <= width) ?? truncate(count, width);
};

const indent = '  ';

/**
 * Lines of a table that fits the width, and what tells what had to be left out or shortened for that. `paint` colours a cell after it was
 * measured; the header is row -1, and so is what was left out.
 */
export const layOutTable = (
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  paint: (text: string, column: Column, row: number) => string = (text) => text,
): readonly string[] => {
  const all = [columns.map(({ title }) => title), ...rows];
  const widest = (cells: readonly string[]): number =>
    cells.reduce((max, cell) => Math.max(max, displayWidth(cell)), 0);
  const column = (index: number): readonly string[] => all.map((row) => row[index]!);
  const short = columns.map(({ title, shortens }, index) =>
    shortens === undefined ? [] : [title, ...shortIds(rows.map((row) => row[index]!))],
  );
  const { kept, shortened } = columnsThatFit(
    columns,
    columns.map((_, index) => widest(column(index))),
    short.map(widest),
    width,
  );
  const isKept = (index: number): boolean => kept.some((each) => each.index === index);
  const lineOf = (row: readonly string[], number: number): readonly string[] => {
    const below = columns.flatMap((each, index) => {
      const room = kept.find((place) => place.index === index)?.width ?? 0;
      if (number < 0 || !each.whole || displayWidth(row[index]!) <= room) return [];
      return breakAt(row[index]!, width - indent.length).map((piece) => indent + paint(piece, each, number));
    });
    const line = kept
      .map(({ index, width: room }, place) => {
        const each = columns[index]!;
        const cell = shortened.has(index) ? short[index]![number + 1]! : row[index]!;
        const fits = number < 0 || !each.whole || displayWidth(cell) <= room;
        const text = each.flexible ? (fits ? truncate(cell, room) : '') : cell;
        if (each.align === 'right') return paint(padStart(text, room), each, number);
        return paint(place === kept.length - 1 ? text : padEnd(text, room), each, number);
      })
      .join(gap)
      .trimEnd();
    return [line, ...below];
  };
  const left = columns.filter(({ whole }, index) => !isKept(index) && !whole);
  const notes = [
    ...(left.length > 0 ? [leftOutNote(left, width)] : []),
    ...(shortened.size > 0 ? [truncate(shortIdsNote, width)] : []),
  ];
  return [...all.flatMap((row, index) => lineOf(row, index - 1)), ...notes.map((note) => paint(note, columns[0]!, -1))];
};
