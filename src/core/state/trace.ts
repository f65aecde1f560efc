import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { entryOf, pointerOf } from '../../schema/pointer.ts';
import { Pointer } from '../../schema/state.ts';
import type { Trace, TraceNode } from '../../schema/trace.ts';
import { findPoint } from '../engine/points.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { shorten } from '../session/context/clip.ts';
import { sound } from '../session/fold.ts';
import { everyFile } from '../session/state/file-entries.ts';
import { valueAt } from '../session/state/state-change.ts';
import { entryCommits } from './entry-commits.ts';
import { traceBack } from './trace-back.ts';
import { TraceForward } from './trace-forward.ts';
import { TraceGraph } from './trace-graph.ts';
import { TracedSessions } from './trace-sources.ts';

export const maxTraceNodes = 1000;
const Options = z.strictObject({
  /** Which way to walk: to what the entry rests on, or to what rests on it. By default both. */
  direction: z.enum(['back', 'forward', 'both']).default('both'),
  /** The greatest distance from the entry. */
  depth: z.int().min(1).max(100).default(20),
  /** The maximum number of nodes in each direction. */
  limit: z.int().min(1).max(maxTraceNodes).default(200),
});
export type TraceOptions = z.input<typeof Options>;

const Entry = Text.min(1).max(2100);
const maxValueChars = 200;

/** The paths of entries that can stand for a file: its own, or that of a folder with many changed files. */
const fileEntries = (path: string): readonly string[] => {
  const folders = path.split('/').slice(0, -1);
  const above = folders.map((_, index) => `${folders.slice(0, index + 1).join('/')}/`).toReversed();
  return [path, ...above, everyFile].map((key) => pointerOf('filesModified', key));
};

const nothingSet = (key: SessionKey, entry: string): PerdureError =>
  new PerdureError(
    'POINT_NOT_FOUND',
    `no commit of ${key.session} set ${entry}: name an entry such as /facts/port, a file such as files:src/a.ts, or an event such as seq:17`,
    { details: { session: key.session, entry } },
  );

interface Root {
  readonly seq: number;
  /** The node of the entry. Absent if the trace starts at an event. */
  readonly node?: TraceNode & { readonly path: string };
}

const entryRoot = async (scope: LogAccess, key: SessionKey, entry: string): Promise<Root> => {
  const isPointer = entry.startsWith('/');
  const path = isPointer ? parseInput('the entry', Pointer, entry) : entry.replace(/^files:/, '').replace(/^\.\//, '');
  const fold = sound(await scope.folds.head(key));
  const place = { session: key.session, seq: fold.seq };
  for (const each of isPointer ? [entryOf(path)] : fileEntries(path)) {
    const set = (await entryCommits(scope, { place, fold }, [each])).get(each);
    if (!set) continue;
    const text = shorten(JSON.stringify(valueAt(fold.state, each)) ?? 'removed', maxValueChars);
    const provenance = fold.provenance[each];
    const node = { id: `entry:${each}`, kind: 'entry' as const, session: key.session, text: `${each} ${text}` };
    return { seq: set.seq, node: { ...node, ...(provenance && { provenance }), path: each } };
  }
  throw nothingSet(key, entry);
};

const rootOf = async (scope: LogAccess, key: SessionKey, entry: string): Promise<Root> => {
  const [, seq] = /^seq:(\d{1,15})$/.exec(entry) ?? [];
  return seq === undefined ? entryRoot(scope, key, entry) : { seq: await findPoint(scope, key, { seq: Number(seq) }) };
};

/**
 * Walks from an entry of the state, a file or an event back to the messages and results that it rests on, and forward
 * to what rests on it. It follows only what logs prove.
 */
export const traceEntry = async (
  scope: LogAccess,
  key: SessionKey,
  input: string,
  options: TraceOptions = {},
): Promise<Trace> => {
  const entry = parseInput('the entry', Entry, input);
  const { direction, depth, limit } = parseInput('the trace', Options, options);
  const { seq, node } = await rootOf(scope, key, entry);
  const sessions = new TracedSessions(scope);
  const session = await sessions.open(key.session);
  const event = await session.find(seq);
  if (!event) throw nothingSet(key, entry);
  const graph = new TraceGraph(limit + 2);
  graph.add(event.node);
  if (node) {
    const { path: _, ...shown } = node;
    graph.add(shown);
    graph.link(node.id, event.node.id, 'set');
  }
  if (direction !== 'forward') {
    await traceBack(sessions, graph, { session, seq, focus: node?.path, depth: 0 }, depth);
  }
  graph.turnAround();
  if (direction !== 'back') await new TraceForward(scope, sessions, graph, depth).from(session, event, 0);
  const { nodes, edges, isComplete } = graph;
  return { root: node?.id ?? event.node.id, nodes, edges, isComplete };
};
