import { z } from 'zod';
import { listOf } from '../../schema/bounded.ts';
import { PerdureError } from '../../schema/error.ts';
import { SessionId } from '../../schema/ids.ts';
import { Status } from '../../schema/lifecycle.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { importBundle } from '../bundles/import-bundle.ts';
import type { ImportOptions } from '../bundles/import-options.ts';
import { writeBundle } from '../bundles/write-bundle.ts';
import { keyOf } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { Imported, ListQuery } from '../ports/store.ts';
import { listWorkspaceRuns, type RunsOptions, type WorkspaceRunPage } from '../runs/list-runs.ts';
import type { Agent } from '../session/agent.ts';
import type { CommitRecord } from '../session/state/commit-record.ts';
import { type OpenOptions, openSession } from '../sessions/open-session.ts';
import type { CallDetails } from '../state/call-contents.ts';
import { findCalls, findCommits } from '../state/commits.ts';
import type { CallFilter, CommitFilter } from '../state/record-filter.ts';
import type { Scope } from './scope.ts';
import { type SessionOf, sessionHandle } from './session.ts';

const ListOptions = z.strictObject({
  status: z.union([Status, z.array(Status)]).optional(),
  limit: z.int().min(1).max(1000).default(50),
  cursor: z.string().optional(),
  /**
   * The sort order. `change`, the default, lists the newest change first. `id` reaches every session, even one whose
   * time of change was damaged.
   */
  by: z.enum(['change', 'id']).default('change'),
});
export type ListOptions = z.input<typeof ListOptions>;

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /**
   * The cursor of the next page. Absent on the last page. A session that changes between two pages moves to the front,
   * so later pages do not show it.
   */
  readonly cursor?: string;
}

export interface Sessions {
  /** Opens a new session, with or without an agent and initial files. */
  open<A extends Agent = Agent>(options?: OpenOptions<A>): Promise<SessionOf<A>>;
  /**
   * Finds a session by its id. Fails with SESSION_NOT_FOUND if there is none. `get<typeof agent>(id)` has the types of
   * the agent that the session is bound to.
   */
  get<A extends Agent = Agent>(id: string): Promise<SessionOf<A>>;
  /** The sessions of the workspace, newest change first, or by id. */
  list(options?: ListOptions): Promise<SessionPage>;
  /** Exports these sessions and the lineage they need, as one portable file. */
  export(ids: readonly string[]): AsyncIterable<Uint8Array>;
  /** Imports the sessions of an exported file, either all or none. Importing the same file twice changes nothing. */
  import(bundle: AsyncIterable<Uint8Array>, options?: ImportOptions): Promise<Imported>;
  /** Commits across the workspace: which session touched a path, in which turn, by which tool. Newest first. */
  commits(filter?: Omit<CommitFilter, 'turns' | 'last'>): Promise<readonly CommitRecord[]>;
  /** Calls across the workspace: which session called which tool, and with what outcome. Newest first. */
  toolCalls(filter?: Omit<CallFilter, 'turns' | 'last'>): Promise<readonly CallDetails[]>;
  /** Runs across the workspace, the last admitted one first. */
  runs(options?: RunsOptions): Promise<WorkspaceRunPage>;
  /** Rebuilds the indexes and summaries that are stored beside the logs. Returns the number of events read. */
  rebuildProjections(): Promise<number>;
}

type Order = NonNullable<ListQuery['by']>;

/** A cursor names its order, so that a listing in another order rejects it. */
const cursorOf = ({ updatedAt, id }: SessionSummary, by: Order): string =>
  by === 'id' ? `id.${id}` : `${updatedAt}.${id}`;

const parseCursor = (cursor: string | undefined, by: Order): ListQuery['after'] => {
  if (cursor === undefined) return undefined;
  const [, place, id] = (by === 'id' ? /^(id)\.(.+)$/ : /^(-?\d{1,16})\.(.+)$/).exec(cursor) ?? [];
  // A listing by id must also continue after a damaged id.
  const isOne = by === 'id' ? id !== undefined : SessionId.safeParse(id).success;
  if (!isOne) {
    throw new PerdureError('INVALID_INPUT', 'the cursor does not come from this listing: leave it out to start over');
  }
  return { updatedAt: by === 'id' ? 0 : Number(place), id: id as SessionId };
};

const listSessions = async (scope: Scope, options: ListOptions = {}): Promise<SessionPage> => {
  const { status, limit, cursor, by } = parseInput('the query', ListOptions, options);
  const statuses = typeof status === 'string' ? [status] : status;
  const query = { status: statuses, limit: limit + 1, by, after: parseCursor(cursor, by) };
  const found = await scope.store.list(scope.workspace, query);
  const sessions = found.slice(0, limit);
  return { sessions, ...(found.length > limit && { cursor: cursorOf(sessions.at(-1)!, by) }) };
};

export const sessionsOf = (scope: Scope): Sessions => ({
  open: async <A extends Agent>(options: OpenOptions<A> = {}) =>
    sessionHandle(scope, await openSession(scope, options)) as SessionOf<A>,
  get: async <A extends Agent>(id: string) => {
    const key = keyOf(scope, parseInput('the session id', SessionId, id));
    if (!(await scope.store.head(key))) throw sessionNotFound(key);
    return sessionHandle(scope, key.session) as SessionOf<A>;
  },
  list: (options) => listSessions(scope, options),
  export: (ids) => writeBundle(scope, parseInput('the session ids', listOf(SessionId, { min: 1 }), ids)),
  import: (bundle, options) => importBundle(scope, bundle, options),
  commits: (filter) => findCommits(scope, undefined, filter),
  toolCalls: (filter) => findCalls(scope, undefined, filter),
  runs: (options) => listWorkspaceRuns(scope, options),
  rebuildProjections: async () => {
    const events = await scope.store.rebuildProjections(scope.workspace);
    scope.folds.forgetAll();
    return events;
  },
});
