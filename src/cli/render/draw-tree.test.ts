import { expect, test } from 'vitest';
import { recorder } from '../../../test/support/cli/call-cli.ts';
import type { TreeNode } from '../../core/sessions/tree.ts';
import type { SessionId } from '../../schema/ids.ts';
import { displayWidth } from '../terminal/display-width.ts';
import { drawTree } from './draw-tree.ts';

const session = (number: number, ...forks: readonly TreeNode[]): TreeNode => {
  const id = `ses_01abcdefghijklmnop${String(number).padStart(8, '0')}`;
  const summary = { id, status: 'active', turn: 3, title: `Title ${number}`, ...(number > 0 && { forkedAt: number }) };
  return { summary, forks } as unknown as TreeNode;
};
const chain = (from: number, to: number): TreeNode => (from === to ? session(to) : session(from, chain(from + 1, to)));
/** A chain of 22 nested forks, and one more fork of the root. */
const deepTree = session(0, chain(1, 22), session(99));
const drawn = (root: TreeNode, columns: number): readonly string[] =>
  drawTree(root, 'ses_none' as SessionId, { ...recorder(columns), style: (_, text) => text });

test.each([40, 60, 80])(
  '[CLI14, CLI28, CLI33] a chain of 22 forks fits %d columns and shows the depth of each fork',
  (columns) => {
    const lines = drawn(deepTree, columns);
    for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
    expect(lines[22]).toMatch(/^…22 +└─○ 00000022 {2}⑂ seq:22/);
    expect(lines.some((line) => /^…(\d+) is \1 forks below the root$/.test(line))).toBe(true);
  },
);

test('[CLI28, CLI33] a deeply nested line does not shorten the other lines', () => {
  const lines = drawn(deepTree, 40);
  expect(lines[0]).toBe('○ 00000000  active  turn 3  Title 0');
  expect(lines[1]).toBe('├─○ 00000001  ⑂ seq:1  active  Title 1');
  expect(lines[23]).toBe('└─○ 00000099  ⑂ seq:99  active  Title 99');
  expect(lines.slice(24).join(' ')).toMatch(/^left out of some lines: turn, status; see --json …6 is 6 forks/);
});

test('[CLI14] parts omitted from every line are listed once', () => {
  expect(drawn(session(1, session(2)), 38).slice(2)).toEqual([
    'left out: turn; see --json',
    'ids show only their end; see --json',
  ]);
});

test('[CLI14] a pipe gets the full deep tree', () => {
  const lines = drawn(deepTree, Number.POSITIVE_INFINITY);
  expect(lines).toHaveLength(24);
  expect(lines[22]).toBe(`│ ${'  '.repeat(20)}└─○ ses_01abcdefghijklmnop00000022  ⑂ seq:22  active  turn 3  Title 22`);
});
