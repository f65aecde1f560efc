import type { TreeNode } from '../core/service/tree.ts';
import type { SessionId } from '../schema/ids.ts';
import { displayWidth, truncate } from './display-width.ts';
import { paintStatus } from './paint.ts';
import { printableLine } from './printable.ts';
import { shortIds, shortIdsNote } from './short-ids.ts';
import type { Terminal } from './terminal.ts';

interface Line {
  readonly node: TreeNode;
  /** What leads to it from above. */
  readonly branch: string;
}

const linesOf = (root: TreeNode): readonly Line[] => {
  const lines: Line[] = [];
  const draw = (node: TreeNode, branch: string, below: string): void => {
    lines.push({ node, branch });
    node.forks.forEach((fork, index) => {
      const last = index === node.forks.length - 1;
      draw(fork, `${below}${last ? '└─' : '├─'}`, `${below}${last ? '  ' : '│ '}`);
    });
  };
  draw(root, '', '');
  return lines;
};

type Part = 'turn' | 'status' | 'title' | 'point';
const leastTitle = 8;

/** From all there is to what names a line. */
const layouts: readonly { readonly isShort: boolean; readonly left: readonly Part[] }[] = [
  { isShort: false, left: [] },
  { isShort: true, left: [] },
  { isShort: true, left: ['turn'] },
  { isShort: true, left: ['turn', 'status'] },
  { isShort: true, left: ['turn', 'status', 'title'] },
  { isShort: true, left: ['turn', 'status', 'title', 'point'] },
];

const partsOf = ({ summary }: TreeNode, left: readonly Part[]) => {
  const { status, turn, title = '', forkedAt } = summary;
  const shown = (part: Part, text: string): string => (left.includes(part) ? '' : text);
  return {
    point: shown('point', forkedAt === undefined ? '' : `⑂ seq:${forkedAt}`),
    status: shown('status', status),
    turn: shown('turn', `turn ${turn}`),
    title: shown('title', printableLine(title)),
  };
};

const widthOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + (text === '' ? 0 : displayWidth(text) + 2), 0);

/** The family of a session, each fork below the session it was made from with the point it goes on from. */
export const drawTree = (root: TreeNode, asked: SessionId, out: Terminal): readonly string[] => {
  const lines = linesOf(root);
  const ids = lines.map(({ node }) => printableLine(node.summary.id));
  const short = shortIds(ids);
  /** Of a line, all but its title. */
  const taken = ({ node, branch }: Line, id: string, left: readonly Part[]): number => {
    const { point, status, turn } = partsOf(node, left);
    return branch.length + widthOf([id, point, status, turn]);
  };
  const fits = ({ isShort, left }: (typeof layouts)[number]): boolean =>
    lines.every((line, index) => {
      const title = truncate(partsOf(line.node, left).title, leastTitle);
      return taken(line, (isShort ? short : ids)[index]!, left) + widthOf([title]) <= out.columns;
    });
  const { isShort, left } = layouts.find(fits) ?? layouts.at(-1)!;
  const drawn = lines.map((line, index) => {
    const { node, branch } = line;
    const id = (isShort ? short : ids)[index]!;
    const isAsked = node.summary.id === asked;
    const { point, status, turn, title } = partsOf(node, left);
    const label = [
      `${isAsked ? '●' : '○'} ${out.style(isAsked ? 'bold' : 'reset', id)}`,
      ...(point ? [out.style('magenta', point)] : []),
      ...(status ? [paintStatus(node.summary.status, out)] : []),
      turn,
      truncate(title, Math.max(0, out.columns - taken(line, id, left) - 2)),
    ];
    return out.style('dim', branch) + label.filter((text) => text !== '').join('  ');
  });
  const notes = [
    ...(left.length > 0 ? [`left out: ${left.join(', ')}; see --json`] : []),
    ...(isShort ? [shortIdsNote] : []),
  ];
  return [...drawn, ...notes.map((note) => out.style('dim', truncate(note, out.columns)))];
};
