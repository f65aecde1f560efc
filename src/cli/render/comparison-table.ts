import type { ComparedBranch, ComparedDecision, FirstOf } from '../../core/state/compare.ts';
import { padEnd, truncate, wrap } from '../terminal/display-width.ts';
import { printableLine, printableLines } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { duration } from './quantity.ts';
import { amountTexts } from './usage-text.ts';

/** A branch with the name of its column. */
export interface NamedBranch extends ComparedBranch {
  readonly name: string;
}

const decisionText = ({ id, change, what, was, why }: ComparedDecision): string => {
  const moved = was === undefined ? what : `${was} → ${what}`;
  return printableLine(change === 'removed' ? `${id}: dropped “${what}”` : `${id}: ${moved} (“${why}”)`);
};

const fileText = ({ path, change, from }: ComparedBranch['files']['first'][number]): string =>
  printableLine(`${change} ${from === undefined ? '' : `${from} → `}${path}`);

const listed = <T>({ first, more }: FirstOf<T>, text: (item: T) => string): readonly string[] => [
  ...first.map(text),
  ...(more > 0 ? [`and ${more} more`] : []),
];

const outcomeText = ({ outcome }: ComparedBranch): string => {
  if (!outcome) return 'no run';
  const reason = outcome.reason === undefined ? '' : printableLine(outcome.reason);
  if (outcome.status === 'waiting') return `waiting for ${reason}`;
  return reason === '' ? outcome.status : `${outcome.status}: ${reason}`;
};

const costText = ({ costUsd, unpriced }: ComparedBranch['usage']): string =>
  `${unpriced > 0 ? 'at least ' : ''}${amountTexts.usd(costUsd)} USD`;

const callsText = ({ calls: { total, failed } }: ComparedBranch): string =>
  failed > 0 ? `${total}, ${failed} not ok` : String(total);

/** The rows of a comparison: what each says of a branch, as lines. */
const rows: readonly (readonly [title: string, of: (branch: ComparedBranch) => readonly string[]])[] = [
  ['title', ({ title }) => (title === undefined ? [] : [printableLine(title)])],
  ['outcome', (branch) => [outcomeText(branch)]],
  ['answer', ({ answer }) => printableLines(answer?.text ?? 'none since they part')],
  ['decisions', ({ decisions }) => listed(decisions, decisionText)],
  [
    'files',
    ({ files, filesProblem: problem }) => [
      ...listed(files, fileText),
      ...(problem === undefined ? [] : [`not compared: ${printableLine(problem)}`]),
    ],
  ],
  ['calls', (branch) => [callsText(branch)]],
  ['models', ({ models }) => models.map(printableLine)],
  ['tokens', ({ usage }) => [amountTexts.tokens(usage.tokens)]],
  ['cost', ({ usage }) => [costText(usage)]],
  ['duration', ({ usage }) => [duration(usage.durationMs)]],
  ['unread', ({ unread }) => (unread > 0 ? [`${unread} events are too many or damaged`] : [])],
];

const gap = '  ';
const leastColumn = 20;
const maxCellLines = 12;
const titleWidth = Math.max(...rows.map(([title]) => title.length));

const cellOf = (lines: readonly string[], width: number): readonly string[] => {
  const wrapped = lines.flatMap((line) => wrap(line, width)).map((line) => truncate(line, width));
  return wrapped.length > maxCellLines ? [...wrapped.slice(0, maxCellLines - 1), '…'] : wrapped;
};

const tableOf = (branches: readonly NamedBranch[], width: number, out: Terminal): readonly string[] => {
  const header = branches.map(({ name }, index) => {
    const text = truncate(`${index + 1} ${printableLine(name)}`, width);
    return out.style('bold', index < branches.length - 1 ? padEnd(text, width) : text);
  });
  const shown = rows.flatMap(([title, of]) => {
    const cells = branches.map((branch) => cellOf(of(branch), width));
    return Array.from({ length: Math.max(...cells.map(({ length }) => length)) }, (_, line) =>
      [
        out.style('dim', padEnd(line === 0 ? title : '', titleWidth)),
        ...cells.map((cell) => padEnd(cell[line] ?? '', width)),
      ]
        .join(gap)
        .trimEnd(),
    );
  });
  return [[' '.repeat(titleWidth), ...header].join(gap), ...shown];
};

const blockOf = (branch: NamedBranch, index: number, out: Terminal): readonly string[] => [
  out.style('bold', truncate(`${index + 1} ${printableLine(branch.name)}`, out.columns)),
  ...rows.flatMap(([title, of]) => {
    const width = Math.max(1, out.columns - titleWidth - gap.length * 2);
    return of(branch)
      .flatMap((line) => wrap(line, width))
      .map((line, place) =>
        `${gap}${out.style('dim', padEnd(place === 0 ? title : '', titleWidth))}${gap}${line}`.trimEnd(),
      );
  }),
];

/** Branches side by side. On a terminal that is too narrow, and in a pipe, one below the other. */
export const renderComparison = (branches: readonly NamedBranch[], out: Terminal): readonly string[] => {
  const room = out.columns - titleWidth - gap.length * branches.length;
  const width = out.isTerminal ? Math.floor(room / branches.length) : 0;
  if (width >= leastColumn) return tableOf(branches, width, out);
  return branches.flatMap((branch, index) => [...(index > 0 ? [''] : []), ...blockOf(branch, index, out)]);
};
