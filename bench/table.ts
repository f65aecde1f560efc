import { type Result, show, showTarget } from './figure.ts';

const heads = ['case', 'engine', 'figure', 'value', 'target', '', 'from'];

const cellsOf = (result: Result): readonly string[] => [
  result.case,
  result.engine,
  result.name,
  show(result.value, result.unit),
  result.target ? showTarget(result.target, result.unit) : '',
  result.ok === undefined ? '' : result.ok ? 'ok' : 'missed',
  result.detail ?? '',
];

/** A table that is readable in a terminal and is also Markdown. */
export const tableOf = (results: readonly Result[]): string => {
  const rows = [heads, ...results.map(cellsOf)];
  const widths = heads.map((_, column) => Math.max(3, ...rows.map((cells) => cells[column]!.length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column]!)).join(' | ')} |`;
  const [first, ...rest] = rows.map(line);
  return [first, line(widths.map((width) => '-'.repeat(width))), ...rest].join('\n');
};
