import type { Trace, TraceEdge, TraceNode } from '../../schema/trace.ts';
import { truncate } from '../terminal/display-width.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';

const leastCap = 8;
const leastText = 12;

const notes = { more: ' …', damaged: ' (damaged)', hidden: '' } as const;

/** The place of a node, who made it and how reliable it is, and what it says. */
const nodeText = (
  { kind, session, seq, turn, actor, tool, provenance, text, note }: TraceNode,
  here: string,
): string => {
  const place = seq === undefined ? '' : ` ${session === here ? '' : `${session}/`}seq:${seq} t${turn ?? '?'}`;
  const named = seq === undefined && kind === 'session' ? ` ${session}` : '';
  const by = tool !== undefined ? ` tool:${tool}` : actor !== undefined ? ` ${actor}` : '';
  const level = provenance ? ` (${provenance})` : '';
  return printableLine(`${kind}${named}${place}${by}${level}${note ? notes[note] : ''}${text ? `: ${text}` : ''}`);
};

interface Side {
  readonly title: string;
  readonly next: (id: string) => readonly (TraceEdge & { readonly id: string })[];
}

const sideLines = (trace: Trace, { title, next }: Side, here: string, out: Terminal): readonly string[] => {
  const nodes = new Map(trace.nodes.map((node) => [node.id, node]));
  const drawn = new Set<string>();
  const lines: string[] = [out.style('bold', title)];
  const cap = Math.max(leastCap, Math.floor(out.columns / 4));
  const draw = (id: string, above: string): void => {
    const edges = next(id);
    for (const [index, edge] of edges.entries()) {
      const isLast = index === edges.length - 1;
      const whole = `${above}${isLast ? '└─' : '├─'}`;
      const branch = whole.length > cap ? `…${whole.slice(-cap + 1)}` : whole;
      const isAgain = drawn.has(edge.id);
      drawn.add(edge.id);
      const node = nodes.get(edge.id);
      const text = node ? nodeText(node, here) : edge.id;
      const label = `${edge.reason} ${text}${isAgain ? ' (above)' : ''}`;
      lines.push(
        `${out.style('dim', branch)} ${truncate(label, Math.max(leastText, out.columns - branch.length - 1))}`,
      );
      if (!isAgain) draw(edge.id, `${above}${isLast ? '  ' : '│ '}`);
    }
  };
  draw(trace.root, '');
  return lines.length > 1 ? lines : [`${lines[0]} nothing`];
};

/** Draws a trace as two trees: what the root rests on, and what rests on it. */
export const drawTrace = (
  trace: Trace,
  here: string,
  sides: { readonly back: boolean; readonly forward: boolean },
  out: Terminal,
): readonly string[] => {
  const below = Map.groupBy(trace.edges, ({ from }) => from);
  const above = Map.groupBy(trace.edges, ({ to }) => to);
  const root = trace.nodes.find(({ id }) => id === trace.root);
  // An entry has only the commit that set it, and everything else rests on that commit.
  const start = root?.kind === 'entry' ? (below.get(trace.root)?.[0]?.to ?? trace.root) : trace.root;
  const back: Side = {
    title: 'rests on:',
    next: (id) => (below.get(id) ?? []).map((edge) => ({ ...edge, id: edge.to })),
  };
  const forward: Side = {
    title: 'what rests on it:',
    next: (id) =>
      (above.get(id === trace.root ? start : id) ?? [])
        .filter(({ reason }) => reason !== 'set')
        .map((edge) => ({ ...edge, id: edge.from })),
  };
  return [
    ...(root ? [truncate(nodeText(root, here), out.columns)] : []),
    ...(sides.back ? sideLines(trace, back, here, out) : []),
    ...(sides.forward ? sideLines(trace, forward, here, out) : []),
    ...(trace.isComplete ? [] : [out.style('dim', '… more: trace seq:N of such a line, or set --depth or --limit')]),
  ];
};
