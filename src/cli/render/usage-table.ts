import type { UsageAmounts, UsageGroup, UsageReport, UsageRow } from '../../schema/views/usage.ts';
import { wrap } from '../terminal/display-width.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { count } from './quantity.ts';
import { type Column, layOutTable } from './table.ts';
import { amountTexts } from './usage-text.ts';

const keyTitles: Readonly<Record<UsageGroup, string>> = {
  run: 'RUN',
  session: 'SESSION',
  agent: 'AGENT',
  model: 'MODEL',
  member: 'MEMBER',
  workspace: 'WORKSPACE',
  day: 'DAY (UTC)',
  month: 'MONTH (UTC)',
};

/** The text of a row whose calls have no key, by group. Release 0.1 did not record who requested a run. */
const noKey: Readonly<Partial<Record<UsageGroup, string>>> = { member: '(unknown)' };

interface Part {
  readonly column: Column;
  readonly cell: (row: UsageRow) => string;
}

const tokens = (amounts: UsageAmounts | undefined): string => (amounts ? amountTexts.tokens(amounts.tokens) : '');

const partsFor = (by: UsageGroup, titles: ReadonlyMap<string, string>): readonly Part[] => [
  {
    column: { title: keyTitles[by], ...((by === 'session' || by === 'run') && { shortens: 3 }) },
    cell: ({ key }) => printableLine(key ?? noKey[by] ?? '(none)'),
  },
  { column: { title: 'CALLS', align: 'right', leaves: 3 }, cell: ({ calls }) => amountTexts.turns(calls) },
  { column: { title: 'TOKENS', align: 'right' }, cell: ({ own }) => tokens(own) },
  { column: { title: 'USD', align: 'right', leaves: 4 }, cell: ({ own }) => amountTexts.usd(own.usd) },
  ...(by === 'session' || by === 'run'
    ? [{ column: { title: 'SUBAGENTS', align: 'right', leaves: 2 }, cell: ({ children }) => tokens(children) } as Part]
    : []),
  ...(by === 'session'
    ? [
        {
          column: { title: 'INHERITED', align: 'right', leaves: 1 },
          cell: ({ inherited }) => tokens(inherited),
        } as Part,
        {
          column: { title: 'TITLE', flexible: true, leaves: 5 },
          cell: ({ key = '' }) => printableLine(titles.get(key) ?? ''),
        } as Part,
      ]
    : []),
];

const shareNote = (by: UsageGroup): readonly string[] =>
  by === 'session' || by === 'run'
    ? ['what subagents used and forks inherited is counted in the sessions that made the calls']
    : [];

export const unpricedText = (unpriced: number): readonly string[] =>
  unpriced === 0 ? [] : [`USD without ${count(unpriced, 'call')} to models of unknown price`];

/** Usage as a table with its total. `titles` are those of sessions, by id. */
export const usageTable = (
  { by, rows, total }: UsageReport,
  titles: ReadonlyMap<string, string>,
  out: Terminal,
): readonly string[] => {
  const parts = partsFor(by, titles);
  const { calls, ...own } = total;
  const cells = [...rows, { key: 'total', calls, own }].map((row) => parts.map(({ cell }) => cell(row)));
  const columns = parts.map(({ column }) => column);
  const hasShares = rows.some(({ children, inherited }) => (children?.tokens ?? 0) + (inherited?.tokens ?? 0) > 0);
  return [
    ...layOutTable(columns, cells, out.columns, (cell, _, index) => {
      if (index < 0) return out.style('dim', cell);
      return index === rows.length ? out.style('bold', cell) : cell;
    }),
    ...[...unpricedText(total.unpriced), ...(hasShares ? shareNote(by) : [])].flatMap((line) =>
      wrap(line, out.columns),
    ),
  ];
};
