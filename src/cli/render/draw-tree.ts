import type { TreeNode } from '../../core/sessions/tree.ts';
import type { SessionId } from '../../schema/ids.ts';
import { shortIds, shortIdsNote } from '../names/short-ids.ts';
import { displayWidth, truncate, wrap } from '../terminal/display-width.ts';
import { paintSummary, statusText } from '../terminal/paint.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';

interface Line {
  readonly node: TreeNode;
  readonly id: string;
  /** The characters that connect this node with its parent. */
  readonly branch: string;
  /** Depth of the node, if it is shown in place of the branch. */
  readonly depth?: number | undefined;
}

const leastCap = 8;
/** Maximum width of a branch. If it would be wider, the depth is shown instead. */
const capOf = ({ columns }: Terminal): number => Math.max(leastCap, Math.floor(columns / 4));

const linesOf = (root: TreeNode, cap: number): readonly Line[] => {
  const lines: Line[] = [];
  const draw = (node: TreeNode, depth: number, above: string, end: string): void => {
    const isCapped = above.length + end.length > cap;
    const lead = isCapped ? `…${depth}`.padEnd(cap - end.length) : above;
    lines.push({ node, id: printableLine(node.summary.id), branch: lead + end, depth: isCapped ? depth : undefined });
    const below = above + (end === '' ? '' : end === '└─' ? '  ' : '│ ');
    node.forks.forEach((fork, index) => {
      draw(fork, depth + 1, below, index === node.forks.length - 1 ? '└─' : '├─');
    });
  };
  draw(root, 0, '', '');
  return lines;
};

const parts = ['turn', 'status', 'title', 'point'] as const;
type Part = (typeof parts)[number];
const leastTitle = 8;

const partsOf = ({ summary }: TreeNode): Readonly<Record<Part, string>> => {
  const { turn, title = '', forkedAt } = summary;
  return {
    point: forkedAt === undefined ? '' : `⑂ seq:${forkedAt}`,
    status: statusText(summary),
    turn: `turn ${turn}`,
    title: printableLine(title),
  };
};

const widthOf = (texts: readonly string[]): number =>
  texts.reduce((sum, text) => sum + (text === '' ? 0 : displayWidth(text) + 2), 0);

/**
 * Returns the details shown next to the id, and those omitted for lack of width, in the order in which they are
 * dropped.
 */
const partsThatFit = ({ node, id, branch }: Line, columns: number) => {
  const shown = { ...partsOf(node) };
  const left: Part[] = [];
  const takenBeside = (title: string): number =>
    branch.length + widthOf([id, shown.point, shown.status, shown.turn, title]);
  for (const part of parts) {
    if (takenBeside(truncate(shown.title, leastTitle)) <= columns) break;
    if (shown[part] !== '') left.push(part);
    shown[part] = '';
  }
  return { shown: { ...shown, title: truncate(shown.title, Math.max(0, columns - takenBeside('') - 2)) }, left };
};

const leftOutNote = (left: readonly (readonly Part[])[]): readonly string[] => {
  const gone = parts.filter((part) => left.some((each) => each.includes(part)));
  if (gone.length === 0) return [];
  const isOfAll = left.every((each) => each.length === gone.length);
  return [`left out${isOfAll ? '' : ' of some lines'}: ${gone.join(', ')}; see --json`];
};

const withShortIds = (lines: readonly Line[]): readonly Line[] => {
  const short = shortIds(lines.map(({ id }) => id));
  return lines.map((line, index) => ({ ...line, id: short[index]! }));
};

/** Draws the tree of a session. Each fork is below its parent, with the point at which it was forked. */
export const drawTree = (root: TreeNode, asked: SessionId, out: Terminal): readonly string[] => {
  const whole = linesOf(root, capOf(out));
  const isShort = whole.some((line) => partsThatFit(line, out.columns).left.length > 0);
  const lines = (isShort ? withShortIds(whole) : whole).map((line) => ({
    ...line,
    ...partsThatFit(line, out.columns),
  }));
  const drawn = lines.map(({ node, id, branch, shown: { point, status, turn, title } }) => {
    const isAsked = node.summary.id === asked;
    const label = [
      `${isAsked ? '●' : '○'} ${out.style(isAsked ? 'bold' : 'reset', id)}`,
      point && out.style('magenta', point),
      status && paintSummary(node.summary, out),
      turn,
      title,
    ];
    return out.style('dim', branch) + label.filter((text) => text !== '').join('  ');
  });
  const { depth } = lines.find((line) => line.depth !== undefined) ?? {};
  const notes = [
    ...leftOutNote(lines.map(({ left }) => left)),
    ...(depth === undefined ? [] : [`…${depth} is ${depth} forks below the root`]),
    ...(isShort ? [shortIdsNote] : []),
  ];
  return [...drawn, ...notes.flatMap((note) => wrap(note, out.columns)).map((line) => out.style('dim', line))];
};
