import { isPerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import { pointerOf } from '../../schema/pointer.ts';
import { hasProvenance } from '../../schema/state.ts';
import type { TraceNode, TraceReason } from '../../schema/trace.ts';
import { keyOf, type LogAccess } from '../engine/scope.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { entryCommits } from './entry-commits.ts';
import { closedNode } from './trace-node.ts';
import { type TracedEvent, TracedSession } from './traced-session.ts';

/** An event that another one rests on, or a node for what cannot be shown. */
export type TraceSource = { readonly reason: TraceReason } & (
  | { readonly session: TracedSession; readonly seq: number; readonly focus?: string | undefined }
  | { readonly closed: TraceNode }
);

/** The maximum number of entries of one adoption or carry-over that are followed. */
const maxEntries = 50;

/** Opens each session of a trace once. */
export class TracedSessions {
  readonly #scope: LogAccess;
  readonly #opened = new Map<SessionId, Promise<TracedSession>>();

  constructor(scope: LogAccess) {
    this.#scope = scope;
  }

  open(session: SessionId): Promise<TracedSession> {
    const known = this.#opened.get(session) ?? TracedSession.open(this.#scope, session);
    this.#opened.set(session, known);
    return known;
  }

  /** Opens a session. Returns why not if the caller does not see it or it is damaged. */
  async tryOpen(session: SessionId): Promise<TracedSession | 'hidden' | 'damaged'> {
    try {
      return await this.open(session);
    } catch (error) {
      if (isPerdureError(error, 'SESSION_NOT_FOUND')) return 'hidden';
      if (isSessionDamage(error)) return 'damaged';
      throw error;
    }
  }

  /** The commits in another session that an adoption or a carry-over took its entries from. */
  async #taken({ commit }: TracedEvent, focus: string | undefined): Promise<readonly TraceSource[]> {
    const { origin, entries = [] } = commit ?? {};
    if (origin?.kind !== 'adopt' && origin?.kind !== 'carry') return [];
    const reason = origin.kind === 'adopt' ? 'adopted' : 'carried';
    const session = await this.tryOpen(origin.session);
    if (typeof session === 'string') return [{ reason, closed: closedNode(origin.session, undefined, session) }];
    const paths = (focus === undefined ? entries : entries.filter((path) => path === focus)).slice(0, maxEntries);
    try {
      const place = { session: origin.session, seq: origin.seq };
      const fold = await this.#scope.folds.at(keyOf(this.#scope, origin.session), origin.seq);
      const found = await entryCommits(this.#scope, { place, fold }, paths);
      const last = new Map([...found].map(([path, { seq }]) => [seq, path]));
      return [...last].map(([seq, path]) => ({ reason, session, seq, focus: focus === undefined ? undefined : path }));
    } catch (error) {
      if (!isSessionDamage(error) && !isPerdureError(error, 'POINT_NOT_FOUND')) throw error;
      return [{ reason, closed: closedNode(origin.session, undefined, 'damaged') }];
    }
  }

  /** Everything that an event rests on directly. With `focus`, only what the entry at this path rests on. */
  async sourcesOf(session: TracedSession, event: TracedEvent, room: number, focus?: string): Promise<TraceSource[]> {
    const { links, file, covers, node } = event;
    const sources: TraceSource[] = links.map(({ to, reason }) => ({ reason, session, seq: to }));
    const version = file === undefined ? undefined : await session.fileBefore(file, node.seq);
    if (version !== undefined) {
      sources.push({ reason: 'reads', session, seq: version, focus: pointerOf('filesModified', file!) });
    }
    if (covers) {
      for await (const seq of session.messages(covers[0], Math.min(covers[1], node.seq - 1))) {
        if (sources.length > room) break;
        sources.push({ reason: 'compacted', session, seq });
      }
    }
    return [...sources, ...(await this.#taken(event, focus))];
  }
}

/** Whether other sessions can take the entry at a path from this one. They never take counters. */
export const isTakeable = (path: string): boolean => hasProvenance(path) || path.startsWith('/filesModified/');
