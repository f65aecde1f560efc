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
import type { CallRecord, Imported, ListQuery } from '../ports/store.ts';
import { type SessionUsage, usageUnlessDamaged } from '../runs/usage.ts';
import type { CommitRecord } from '../session/state/commit-record.ts';
import { type OpenOptions, openSession } from '../sessions/open-session.ts';
import { findCalls, findCommits } from '../state/commits.ts';
import type { CallFilter, CommitFilter } from '../state/record-filter.ts';
import type { Scope } from './scope.ts';
import { type Session, sessionHandle } from './session.ts';

const ListOptions = z.strictObject({
  status: z.union([Status, z.array(Status)]).optional(),
  limit: z.int().min(1).max(1000).default(50),
  cursor: z.string().optional(),
  /** `change` by default, newest first. By `id` every session is met, also one whose time of change was damaged. */
  by: z.enum(['change', 'id']).default('change'),
});
export type ListOptions = z.input<typeof ListOptions>;

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /** Where the next page goes on; absent on the last one. A session that changes meanwhile moves to the front, which later pages do not show. */
  readonly cursor?: string;
}

export interface UsagePage {
  readonly usage: readonly SessionUsage[];
  /** Those whose log cannot be read: what they have used is in none of the figures. */
  readonly damaged: readonly SessionId[];
  readonly cursor?: string;
}

export interface Sessions {
  /** A new session: without an agent, or bound to one, with or without files to begin with. */
  open(options?: OpenOptions): Promise<Session>;
  /** A session by its id; fails with SESSION_NOT_FOUND when there is none. */
  get(id: string): Promise<Session>;
  /** The sessions of the workspace, newest change first, or by ids. */
  list(options?: ListOptions): Promise<SessionPage>;
  /** What sessions have used, in the order of `list`. */
  usage(options?: ListOptions): Promise<UsagePage>;
  /** One portable file with these sessions and the lineage they need. */
  export(ids: readonly string[]): AsyncIterable<Uint8Array>;
  /** Takes over the sessions of such a file, whole or not at all; the same one twice changes nothing. */
  import(bundle: AsyncIterable<Uint8Array>, options?: ImportOptions): Promise<Imported>;
  /** Across the workspace: which sessions touched a path, in which turn, by which tool. Newest first. */
  commits(filter?: Omit<CommitFilter, 'turns' | 'last'>): Promise<readonly CommitRecord[]>;
  /** Across the workspace: which sessions called which tool, and with what outcome. Newest first. */
  toolCalls(filter?: Omit<CallFilter, 'turns' | 'last'>): Promise<readonly CallRecord[]>;
  /** Makes all that is kept beside the logs anew from them; returns how many events were read. */
  rebuildProjections(): Promise<number>;
}

type Order = NonNullable<ListQuery['by']>;

/** It names its order, so that no other is gone on with by it. */
const cursorOf = ({ updatedAt, id }: SessionSummary, by: Order): string =>
  by === 'id' ? `id.${id}` : `${updatedAt}.${id}`;

const parseCursor = (cursor: string | undefined, by: Order): ListQuery['after'] => {
  if (cursor === undefined) return undefined;
  const [, place, id] = (by === 'id' ? /^(id)\.(.+)$/ : /^(-?\d{1,16})\.(.+)$/).exec(cursor) ?? [];
  // By ids also one that was damaged is gone on from.
  const isOne = by === 'id' ? id !== undefined : SessionId.safeParse(id).success;
  if (!isOne) {
    throw new PerdureError('INVALID_INPUT', 'the cursor is not one that this listing gave: leave it out to begin anew');
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
  open: async (options = {}) => sessionHandle(scope, await openSession(scope, options)),
  get: async (id) => {
    const key = keyOf(scope, parseInput('the session id', SessionId, id));
    if (!(await scope.store.head(key))) throw sessionNotFound(key);
    return sessionHandle(scope, key.session);
  },
  list: (options) => listSessions(scope, options),
  usage: async (options) => {
    const { sessions, ...page } = await listSessions(scope, options);
    const found = await Promise.all(sessions.map(({ id }) => usageUnlessDamaged(scope, keyOf(scope, id))));
    const usage = found.filter((each) => typeof each !== 'string');
    return { ...page, usage, damaged: found.filter((each) => typeof each === 'string') };
  },
  export: (ids) => writeBundle(scope, parseInput('the session ids', listOf(SessionId, { min: 1 }), ids)),
  import: (bundle, options) => importBundle(scope, bundle, options),
  commits: (filter) => findCommits(scope, undefined, filter),
  toolCalls: (filter) => findCalls(scope, undefined, filter),
  rebuildProjections: async () => {
    const events = await scope.store.rebuildProjections(scope.workspace);
    scope.folds.forgetAll();
    return events;
  },
});
