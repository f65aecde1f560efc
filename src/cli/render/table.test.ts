import { describe, expect, test } from 'vitest';
import { displayWidth } from '../terminal/display-width.ts';
import { type Column, layOutTable } from './table.ts';

const columns: readonly Column[] = [
  { title: 'ID' },
  { title: 'N', align: 'right', leaves: 1 },
  { title: 'TITLE', flexible: true, leaves: 2 },
];
const rows = [
  ['ses_a', '1', 'short'],
  ['ses_b', '123', 'a title that is too long for it'],
  ['ses_c', '12', '漢字漢字漢字漢字漢字'],
];

test('columns are aligned, and without a width limit nothing is truncated', () => {
  expect(layOutTable(columns, rows, Number.POSITIVE_INFINITY)).toEqual([
    'ID       N  TITLE',
    'ses_a    1  short',
    'ses_b  123  a title that is too long for it',
    'ses_c   12  漢字漢字漢字漢字漢字',
  ]);
});

test('a table fits its width: the flexible column is truncated, then columns are dropped in order, and ids stay whole', () => {
  expect(layOutTable(columns, rows, 24)[2]).toBe('ses_b  123  a title tha…');
  expect(layOutTable(columns, rows, 16)[2]).toBe('ses_b  a title …');
  expect(layOutTable(columns, rows, 8)).toEqual(['ID', 'ses_a', 'ses_b', 'ses_c', '2 colum…']);
  expect(layOutTable(columns, rows, 2)[1]).toBe('ses_a');
  for (const width of [5, 8, 16, 19, 20, 24, 40]) {
    for (const line of layOutTable(columns, rows, width)) expect(displayWidth(line)).toBeLessThanOrEqual(width);
  }
});

test.each([
  [16, '1 column left o…'],
  [24, '1 column left out'],
  [30, '1 column left out; see --json'],
  [33, '1 column left out: b; see --json'],
  [60, '1 column left out: b; widen the terminal or use --json'],
])('[CLI14] a table of %i columns that drops a column says so', (width, note) => {
  const wide: readonly Column[] = [{ title: 'A' }, { title: 'B', leaves: 1 }];
  const lines = layOutTable(wide, [['a', 'b'.repeat(80)]], width, (text, _, row) => (row < 0 ? `<${text}>` : text));
  expect(lines).toEqual(['<A>', 'a', `<${note}>`]);
  expect(layOutTable(wide, [['a', 'b']], width)).toHaveLength(2);
});

const withIds: readonly Column[] = [
  { title: 'SESSION', shortens: 2 },
  { title: 'N', align: 'right', leaves: 1 },
  { title: 'TITLE', flexible: true, leaves: 3 },
];

const ids = ['ses_01jd3v8m9k5x7q2w4e6r8t0y1a', 'ses_01jd3v8m9k5x7q2w4exr8t0y1a', 'ses_01jd3v8m9k5x7q2w4e6r8t0y1b'];

test('[CLI28, CLI21] ids are shortened to distinguishable ends before they crowd out a title, and a note says so', () => {
  const rowsOf = ids.map((id) => [id, '1', 'What it is about']);
  expect(layOutTable(withIds, rowsOf, 38)).toEqual([
    'SESSION   N  TITLE',
    '6r8t0y1a  1  What it is about',
    'xr8t0y1a  1  What it is about',
    '6r8t0y1b  1  What it is about',
    'ids show only their end; see --json',
  ]);
  expect(layOutTable(withIds, rowsOf, 80)[1]).toContain(ids[0]);
});

test('[CLI28] a wider terminal never shows less of a title than a narrower one', () => {
  const sessions: readonly Column[] = [
    { title: 'SESSION', shortens: 3 },
    { title: 'STATUS' },
    { title: 'TURNS', align: 'right', leaves: 2 },
    { title: 'MESSAGES', align: 'right', leaves: 1 },
    { title: 'AGE', align: 'right', leaves: 4 },
    { title: 'TITLE', flexible: true, leaves: 5 },
  ];
  const title = 'Fix the failing test of the parser';
  const rowsOf = ids.map((id) => [id, 'active', '1', '2', '3m', title]);
  const shownAt = (width: number) => /Fix.*/.exec(layOutTable(sessions, rowsOf, width)[1]!)![0].length;
  expect(shownAt(40)).toBe(17);
  for (let width = 40; width <= 120; width += 1) expect(shownAt(width), `${width}`).toBeGreaterThanOrEqual(16);
  expect(layOutTable(sessions, rowsOf, 80)[1]).toContain(ids[0]);
});

describe('[CLI14] a cell that must not be truncated', () => {
  const webhooks: readonly Column[] = [
    { title: 'WEBHOOK', shortens: 3 },
    { title: 'STATE' },
    { title: 'EVENTS', leaves: 2 },
    { title: 'AGE', align: 'right', leaves: 1 },
    { title: 'URL', flexible: true, whole: true },
  ];
  const rowOf = (id: string, url: string) => [id, 'enabled', 'run.ended', '3m', url];

  test('stays on its line at every width where it fits', () => {
    const hooks = ids.map((id) => rowOf(id, 'https://example.org/h'));
    for (let width = 40; width <= 120; width += 1)
      expect(layOutTable(webhooks, hooks, width)[1], `${width}`).toMatch(/\S+ .*https:\/\/example\.org\/h$/);
  });

  test('takes no width from other columns if it does not fit on its line', () => {
    const [id = '', other = ''] = ids;
    const lines = layOutTable(webhooks, [rowOf(id, `https://${'x'.repeat(70)}`), rowOf(other, 'https://b')], 80);
    expect(lines[1]).toMatch(new RegExp(`^${id}  enabled  run.ended   3m$`));
    expect(lines[3]).toMatch(/https:\/\/b$/);
    expect(lines).toHaveLength(4);
  });
});

test('[CLI14] a cell that must not be truncated moves below its line when it is too long', () => {
  const whole: readonly Column[] = [{ title: 'ID' }, { title: 'URL', flexible: true, whole: true }];
  expect(
    layOutTable(
      whole,
      [
        ['a', 'https://example.org/hooks'],
        ['b', 'https://b'],
      ],
      16,
    ),
  ).toEqual(['ID  URL', 'a', '  https://exampl', '  e.org/hooks', 'b   https://b']);
});

test('colours are not counted as width', () => {
  const painted = layOutTable(columns, rows, 30, (text, { title }, row) =>
    row >= 0 && title === 'N' ? `<${text}>` : text,
  );
  expect(painted[1]).toBe('ses_a  <  1>  short');
});

test('a table without rows shows only its header', () => {
  expect(layOutTable(columns, [], 80)).toEqual(['ID  N  TITLE']);
});
