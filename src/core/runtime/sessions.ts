import { listOf } from '../../schema/bounded.ts';
import { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { refusalOf } from '../access/guard.ts';
import { importBundle } from '../bundles/import-bundle.ts';
import type { ImportOptions } from '../bundles/import-options.ts';
import { writeBundle } from '../bundles/write-bundle.ts';
import { keyOf } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { Imported, Store } from '../ports/store.ts';
import { listWorkspaceRuns, type RunsOptions, type WorkspaceRunPage } from '../runs/list-runs.ts';
import type { Agent } from '../session/agent.ts';
import { type ListOptions, listSessions, type SessionPage } from '../sessions/list-sessions.ts';
import { carriesFiles, type OpenOptions, openSession } from '../sessions/open-session.ts';
import { type CallPage, type CommitPage, findCalls, findCommits } from '../state/commits.ts';
import type { CallFilter, CommitFilter } from '../state/record-filter.ts';
import type { Scope } from './scope.ts';
import { type SessionOf, sessionHandle } from './session.ts';

export type { ListOptions, SessionPage };

export interface Sessions {
  /** Opens a new session, with or without an agent and initial files. */
  open<A extends Agent = Agent>(options?: OpenOptions<A>): Promise<SessionOf<A>>;
  /**
   * Finds a session by its id. Fails with SESSION_NOT_FOUND if there is none. `get<typeof agent>(id)` has the types of
   * the agent that the session is bound to.
   */
  get<A extends Agent = Agent>(id: string): Promise<SessionOf<A>>;
  /** The sessions of the workspace, newest change first, or by id. Filters come from indexes. */
  list(options?: ListOptions): Promise<SessionPage>;
  /** Exports these sessions and the lineage they need, as one portable file. */
  export(ids: readonly string[]): AsyncIterable<Uint8Array>;
  /** Imports the sessions of an exported file, either all or none. Importing the same file twice changes nothing. */
  import(bundle: AsyncIterable<Uint8Array>, options?: ImportOptions): Promise<Imported>;
  /** Commits across the workspace: which session touched a path, in which turn, by which tool. Newest first. */
  commits(filter?: Omit<CommitFilter, 'turns' | 'last'>): Promise<CommitPage>;
  /** Calls across the workspace: which session called which tool, and with what outcome. Newest first. */
  toolCalls(filter?: Omit<CallFilter, 'turns' | 'last'>): Promise<CallPage>;
  /** Runs across the workspace, the last admitted one first. */
  runs(options?: RunsOptions): Promise<WorkspaceRunPage>;
  /** Rebuilds the indexes and summaries that are stored beside the logs. Returns the number of events read. */
  rebuildProjections(): Promise<number>;
}

/** Lists private sessions of others too, for an admin, and records it. */
const listPrivate =
  (scope: Scope): Store['list'] =>
  (...asked) =>
    scope.audited('sessions.list', 'private', async () => {
      const refusal = refusalOf(scope.caller, 'sessions.list of private sessions', {
        role: 'admin',
        reach: 'workspace',
      });
      if (refusal) throw refusal;
      return scope.listByRole(...asked);
    });

const refuseWithoutFiles = ({ caller }: Scope): void => {
  const refusal = refusalOf(caller, 'sessions.open with carried files', { role: 'member', areas: ['files'] });
  if (refusal) throw refusal;
};

export const sessionsOf = (scope: Scope): Sessions => ({
  open: async <A extends Agent>(options: OpenOptions<A> = {}) => {
    if (carriesFiles(options)) refuseWithoutFiles(scope);
    return sessionHandle(scope, await openSession(scope, options)) as SessionOf<A>;
  },
  get: async <A extends Agent>(id: string) => {
    const key = keyOf(scope, parseInput('the session id', SessionId, id));
    if (!(await scope.store.head(key))) throw sessionNotFound(key);
    return sessionHandle(scope, key.session) as SessionOf<A>;
  },
  list: (options) => listSessions(scope, listPrivate(scope), options),
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
