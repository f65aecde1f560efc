import type { TreeNode } from '../core/service/tree.ts';
import type { SessionId } from '../schema/ids.ts';
import { displayWidth, truncate } from './display-width.ts';
import { paintStatus } from './paint.ts';
import { printableLine } from './printable.ts';
import type { Terminal } from './terminal.ts';

const label = ({ summary }: TreeNode, asked: SessionId, room: number, out: Terminal): string => {
  const { status, turn, title = '', forkedAt } = summary;
  const id = printableLine(summary.id);
  const isAsked = summary.id === asked;
  const fork = forkedAt === undefined ? '' : `⑂ seq:${forkedAt}`;
  const mark = isAsked ? '●' : '○';
  let left = room - displayWidth(`${mark} ${id}`);
  /** What still fits beside the id. */
  const beside = (text: string): boolean => {
    left -= displayWidth(text) + 2;
    return left >= 0;
  };
  const parts = [
    ...(fork && beside(fork) ? [out.style('magenta', fork)] : []),
    ...(beside(status) ? [paintStatus(status, out)] : []),
    ...(beside(`turn ${turn}`) ? [`turn ${turn}`] : []),
  ];
  const shownTitle = truncate(printableLine(title), Math.max(0, left - 2));
  return [`${mark} ${out.style(isAsked ? 'bold' : 'reset', id)}`, ...parts, ...(shownTitle ? [shownTitle] : [])].join(
    '  ',
  );
};

/** The family of a session, each fork below the session it was made from with the point it goes on from. */
export const drawTree = (root: TreeNode, asked: SessionId, out: Terminal): readonly string[] => {
  const lines: string[] = [];
  const draw = (node: TreeNode, own: string, below: string): void => {
    lines.push(out.style('dim', own) + label(node, asked, out.columns - own.length, out));
    node.forks.forEach((fork, index) => {
      const last = index === node.forks.length - 1;
      draw(fork, `${below}${last ? '└─' : '├─'}`, `${below}${last ? '  ' : '│ '}`);
    });
  };
  draw(root, '', '');
  return lines;
};
