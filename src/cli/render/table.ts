import { shortIds, shortIdsNote } from '../names/short-ids.ts';
import { breakAt, displayWidth, padEnd, padStart, truncate } from '../terminal/display-width.ts';

export interface Column {
  readonly title: string;
  readonly align?: 'right';
  /** Uses the width that the other columns leave, and truncates its text when that is too little. */
  readonly flexible?: true;
  /**
   * Columns with the lowest number are dropped first when the table is too wide. A column without a number is never
   * dropped.
   */
  readonly leaves?: number;
  /**
   * For a column of ids, which are shortened to their end before any column is dropped. Columns with a lower `leaves`
   * than this number are then dropped to give a flexible column enough width. Those with a higher one are dropped
   * only if it would have almost none.
   */
  readonly shortens?: number;
  /** For a flexible column: a text that is too long moves below its line instead of being truncated. */
  readonly whole?: true;
  /** For a flexible column: the width that it gets even if other columns must be dropped. */
  readonly wants?: number;
  /** For a flexible column: shortens a cell that is too long. By default its beginning is kept. */
  readonly within?: (row: number, width: number) => string;
}

const gap = '  ';
const leastFlexible = 8;
/** Minimum useful width of a flexible column. To reach it, ids are shortened and columns are dropped. */
const enoughFlexible = 16;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
export const highest = (numbers: readonly number[]): number => numbers.reduce((max, each) => Math.max(max, each), 0);

interface Fit {
  /** Indexes and widths of the remaining columns, in order. */
  readonly kept: readonly { readonly index: number; readonly width: number }[];
  readonly shortened: ReadonlySet<number>;
}

/** Chooses the columns that fit and their widths. `cells` and `short` are the cell widths in full and shortened. */
const columnsThatFit = (
  columns: readonly Column[],
  cells: readonly (readonly number[])[],
  short: readonly (readonly number[])[],
  width: number,
): Fit => {
  const natural = cells.map(highest);
  const shortest = short.map(highest);
  const kept = columns.map((_, index) => index);
  const ids = kept.filter((index) => columns[index]!.shortens !== undefined);
  const shortened = new Set<number>();
  const widthOf = (index: number): number => (shortened.has(index) ? shortest : natural)[index]!;
  const least = (index: number): number =>
    columns[index]!.flexible ? Math.min(leastFlexible, natural[index]!) : widthOf(index);
  const rowOf = (indexes: readonly number[], of: (index: number) => number): number =>
    sum(indexes.map(of)) + gap.length * (indexes.length - 1);
  const needed = (): number => rowOf(kept, least);
  /** Largest width that a cell that must not be truncated can have on its line. */
  const wholeRoom =
    width -
    rowOf(
      kept.filter((index) => columns[index]!.leaves === undefined),
      (index) => (columns[index]!.flexible ? 0 : shortest[index] || natural[index]!),
    );
  const enough = (index: number): number => {
    if (!columns[index]!.flexible) return widthOf(index);
    const { whole, wants = enoughFlexible } = columns[index]!;
    if (!whole) return Math.min(wants, natural[index]!);
    return Math.max(least(index), ...cells[index]!.filter((each) => each <= wholeRoom));
  };
  if (rowOf(kept, enough) > width) for (const index of ids) shortened.add(index);
  const leaving = kept
    .filter((index) => columns[index]!.leaves !== undefined)
    .sort((a, b) => columns[a]!.leaves! - columns[b]!.leaves!);
  for (const index of leaving) {
    const isBeforeIds = ids.some((each) => columns[index]!.leaves! < columns[each]!.shortens!);
    const goesFirst = isBeforeIds || columns.some(({ wants }) => wants !== undefined);
    if (rowOf(kept, goesFirst ? enough : least) > width) kept.splice(kept.indexOf(index), 1);
  }
  // The first column names the row, so it is kept.
  while (needed() > width && kept.length > 1) kept.pop();
  const spare = Math.max(0, width - needed());
  return {
    kept: kept.map((index) => ({ index, width: Math.min(widthOf(index), least(index) + spare) })),
    shortened,
  };
};

/** Note that says which columns are missing and how to see them, truncated to the width. */
const leftOutNote = (left: readonly Column[], width: number): string => {
  const count = left.length === 1 ? '1 column left out' : `${left.length} columns left out`;
  const named = `${count}: ${left.map(({ title }) => title.toLowerCase()).join(', ')}`;
  const notes = [`${named}; widen the terminal or use --json`, `${named}; see --json`, `${count}; see --json`];
  return notes.find((note) => displayWidth(note) <= width) ?? truncate(count, width);
};

const cut = ({ within }: Column, cell: string, row: number, room: number): string =>
  within && row >= 0 && displayWidth(cell) > room ? within(row, room) : truncate(cell, room);

const indent = '  ';

/**
 * Lays out a table within the width, followed by notes on what was dropped or shortened. `paint` colours a cell after
 * it was measured; the header and the notes are row -1.
 */
export const layOutTable = (
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number,
  paint: (text: string, column: Column, row: number) => string = (text) => text,
): readonly string[] => {
  const all = [columns.map(({ title }) => title), ...rows];
  const short = columns.map(({ title, shortens }, index) =>
    shortens === undefined ? [] : [title, ...shortIds(rows.map((row) => row[index]!))],
  );
  const { kept, shortened } = columnsThatFit(
    columns,
    columns.map((_, index) => all.map((row) => displayWidth(row[index]!))),
    short.map((ends) => ends.map(displayWidth)),
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
        const text = each.flexible ? (fits ? cut(each, cell, number, room) : '') : cell;
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
