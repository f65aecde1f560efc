import type { TraceGraph } from './trace-graph.ts';
import { closedNode } from './trace-node.ts';
import type { TracedSessions, TraceSource } from './trace-sources.ts';
import type { TracedSession } from './traced-session.ts';

/** Where a walk goes on: an event of a session, at this distance from the root. */
export interface TraceStep {
  readonly session: TracedSession;
  readonly seq: number;
  readonly focus?: string | undefined;
  readonly depth: number;
}

/** The maximum number of events of a session that a walk back reads. */
const maxEvents = 50_000;

/** Reads the newest of the sources first, because its read of a long turn serves the earlier ones. */
const readNewest = async (sources: readonly TraceSource[]): Promise<void> => {
  const [newest] = sources.flatMap((each) => ('seq' in each ? [each] : [])).toSorted((a, b) => b.seq - a.seq);
  await newest?.session.find(newest.seq);
};

/** Adds what the first step rests on, and what that rests on, as far as `maxDepth`. The nearest comes first. */
export const traceBack = async (
  sessions: TracedSessions,
  graph: TraceGraph,
  first: TraceStep,
  maxDepth: number,
): Promise<void> => {
  const seen = new Set<string>();
  const steps = [first];
  const follow = async (id: string, source: TraceSource, depth: number): Promise<boolean> => {
    const found = 'closed' in source ? undefined : await source.session.find(source.seq);
    const node =
      'closed' in source
        ? source.closed
        : (found?.node ?? closedNode(source.session.key.session, source.seq, 'damaged'));
    if (!graph.add(node)) return false;
    graph.link(id, node.id, source.reason);
    if ('session' in source && found) steps.push({ ...source, depth });
    return true;
  };
  for (const { session, seq, focus, depth } of steps) {
    const event = await session.find(seq);
    if (!event) continue;
    const { id } = event.node;
    if (seen.size === seen.add(`${id} ${focus ?? ''}`).size) continue;
    const sources = await sessions.sourcesOf(session, event, graph.room, focus);
    if (sources.length === 0) continue;
    if (depth >= maxDepth || session.eventsRead > maxEvents) graph.cut(id);
    else {
      await readNewest(sources);
      for (const source of sources) {
        if (await follow(id, source, depth + 1)) continue;
        graph.cut(id);
        break;
      }
    }
  }
};
