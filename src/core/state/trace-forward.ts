import { posix } from 'node:path';
import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { segmentsOfPointer } from '../../schema/pointer.ts';
import type { LogAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { FamilyMember } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { isLive } from '../session/live-lineage.ts';
import type { Link } from '../session/state/trace-links.ts';
import type { TraceGraph } from './trace-graph.ts';
import { isTakeable, type TracedSessions } from './trace-sources.ts';
import type { TracedEvent, TracedSession } from './traced-session.ts';

/** The maximum number of events, of forks, and of commits with the path of an entry, that one trace reads. */
const maxEvents = 50_000;
const maxForks = 100;
const maxTakers = 1000;
const pageSize = 100;

/** The reached events of a session by seq, each with its distance from the root. */
type Reached = Map<number, { readonly depth: number; readonly event: TracedEvent }>;

const filesIn = ({ commit }: TracedEvent): readonly string[] =>
  (commit?.entries ?? [])
    .filter((path) => path.startsWith('/filesModified/'))
    .map((path) => segmentsOfPointer(path)[1]!);

/** Follows what rests on an event: in its session, in forks of it, and where its entries were adopted or carried. */
export class TraceForward {
  readonly #scope: LogAccess;
  readonly #sessions: TracedSessions;
  readonly #graph: TraceGraph;
  readonly #maxDepth: number;
  readonly #walked = new Set<string>();
  readonly #takers = new Set<string>();
  readonly #known = new Set<SessionId>();
  readonly #forks = new Map<SessionId, readonly FamilyMember[]>();
  #forksLeft = maxForks;
  #eventsLeft = maxEvents;
  #takersLeft = maxTakers;

  constructor(scope: LogAccess, sessions: TracedSessions, graph: TraceGraph, maxDepth: number) {
    this.#scope = scope;
    this.#sessions = sessions;
    this.#graph = graph;
    this.#maxDepth = maxDepth;
  }

  async from(session: TracedSession, event: TracedEvent, depth: number): Promise<void> {
    await this.#walk(session, new Map([[event.node.seq, { depth, event }]]), event.node.seq);
  }

  /** Walks one session after `after`, then its forks and the sessions that took entries from it. */
  async #walk(session: TracedSession, reached: Reached, after: number): Promise<void> {
    const first = Math.min(...reached.keys());
    const walked = `${session.key.session} ${first} ${after}`;
    if (this.#walked.has(walked)) return;
    this.#walked.add(walked);
    await this.#pass(session, reached, first, after);
    await this.#walkForks(session, reached, first);
    await this.#walkTakers(reached);
  }

  async #pass(session: TracedSession, reached: Reached, first: number, after: number): Promise<void> {
    const files = new Map<string, number>();
    const repeats = new Map<number, { readonly event: TracedEvent; readonly links: readonly Link[] }>();
    for await (const event of session.following(first)) {
      if (this.#eventsLeft-- <= 0) return void this.#graph.cut(reached.get(first)!.event.node.id);
      const { seq } = event.node;
      if (seq > after) {
        const read = event.file === undefined ? undefined : files.get(posix.normalize(event.file));
        const all: readonly Link[] = [
          ...event.links,
          ...(read === undefined ? [] : [{ to: read, reason: 'reads' as const }]),
          ...covered(event, reached),
        ];
        for (const { to } of all) {
          const repeat = repeats.get(to);
          if (repeat && this.#reach(repeat.event, repeat.links, reached)) repeats.delete(to);
        }
        const links = all.filter(({ to }) => reached.has(to));
        if (event.isRepeat && links.length > 0) repeats.set(seq, { event, links });
        else if (links.length > 0) this.#reach(event, links, reached);
      }
      if (seq >= first) for (const file of filesIn(event)) files.set(file, seq);
    }
  }

  /** Adds an event that rests on reached ones. Returns false if it is too far away, or if there is no room. */
  #reach(event: TracedEvent, links: readonly Link[], reached: Reached): boolean {
    const { node } = event;
    const depth = 1 + Math.min(...links.map(({ to }) => reached.get(to)!.depth));
    if (depth > this.#maxDepth || !this.#graph.add(node)) {
      for (const { to } of links) this.#graph.cut(reached.get(to)!.event.node.id);
      return false;
    }
    for (const { to, reason } of links) this.#graph.link(node.id, reached.get(to)!.event.node.id, reason);
    reached.set(node.seq, { depth, event });
    return true;
  }

  /** The forks of a session. Reads each family once. */
  async #forksOf({ key }: TracedSession): Promise<readonly FamilyMember[]> {
    if (!this.#known.has(key.session)) {
      for (const member of await this.#scope.store.family(key)) {
        this.#known.add(member.session);
        if (member.parent)
          this.#forks.set(member.parent.session, [...(this.#forks.get(member.parent.session) ?? []), member]);
      }
    }
    return this.#forks.get(key.session) ?? [];
  }

  async #walkForks(session: TracedSession, reached: Reached, first: number): Promise<void> {
    for (const { session: id, parent } of await this.#forksOf(session)) {
      const at = parent!.seq;
      if (at < first) continue;
      if (this.#forksLeft-- <= 0) return void this.#graph.cut(reached.get(first)!.event.node.id);
      const fork = await this.#sessions.tryOpen(id);
      if (typeof fork === 'string') continue;
      await this.#walk(fork, new Map([...reached].filter(([seq]) => seq <= at)), at);
    }
  }

  /** Walks on from the adoptions and carry-overs of the entries that reached commits set. */
  async #walkTakers(reached: Reached): Promise<void> {
    for (const { event, depth } of [...reached.values()]) {
      const { node, commit } = event;
      if (!commit || this.#takers.has(node.id)) continue;
      this.#takers.add(node.id);
      for (const path of commit.entries.filter(isTakeable)) {
        for await (const taker of this.#commitsAt(path, commit.at, node.id)) {
          await this.#take(taker, node.id, depth);
        }
      }
    }
  }

  async #take(taker: SessionEvent<'state.committed'>, source: string, depth: number): Promise<void> {
    const session = await this.#sessions.tryOpen(taker.session);
    if (typeof session === 'string' || !isLive(session.head.live, taker.seq)) return;
    const event = await session.find(taker.seq);
    if (!event) return;
    const sources = await this.#sessions.sourcesOf(session, event, this.#graph.room);
    for (const each of sources) {
      if ('closed' in each || (each.reason !== 'adopted' && each.reason !== 'carried')) continue;
      const found = await each.session.find(each.seq);
      if (found?.node.id !== source) continue;
      if (depth >= this.#maxDepth || !this.#graph.add(event.node)) return void this.#graph.cut(source);
      this.#graph.link(event.node.id, source, each.reason);
      return this.#walk(session, new Map([[taker.seq, { depth: depth + 1, event }]]), taker.seq);
    }
  }

  /** Yields the commits of the workspace that took the entry at a path from another session, newest first. */
  async *#commitsAt(
    path: string,
    since: number,
    id: string,
  ): AsyncGenerator<SessionEvent<'state.committed'>, void, void> {
    const { store, workspace } = this.#scope;
    for (let before: { readonly at: number; readonly session: SessionId; readonly seq: number } | undefined; ; ) {
      const query = { prefix: path, since, before, limit: pageSize };
      const page = await eventLoop.reading(() => store.findCommits(workspace, query));
      for (const stored of page) {
        await eventLoop.slice();
        if (this.#takersLeft-- <= 0) return void this.#graph.cut(id);
        try {
          const event = decodeEvent(workspace, stored) as SessionEvent<'state.committed'>;
          const { origin, delta } = event.payload;
          const isTaker = origin?.kind === 'adopt' || origin?.kind === 'carry';
          if (isTaker && delta.some((operation) => operation.path === path)) yield event;
        } catch (error) {
          if (!isSessionDamage(error)) throw error;
        }
      }
      const last = page.at(-1);
      if (!last || page.length < pageSize) return;
      before = { at: last.at, session: last.session, seq: last.seq };
    }
  }
}

const covered = ({ covers, node }: TracedEvent, reached: Reached): readonly Link[] =>
  covers === undefined
    ? []
    : [...reached].flatMap(([seq, { event }]) =>
        event.node.kind === 'message' && covers[0] <= seq && seq <= covers[1] && seq < node.seq
          ? [{ to: seq, reason: 'compacted' as const }]
          : [],
      );
