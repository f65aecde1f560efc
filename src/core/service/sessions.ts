import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import { newId, SessionId } from '../../schema/ids.ts';
import { Metadata, Text } from '../../schema/json.ts';
import { Status } from '../../schema/lifecycle.ts';
import { Limits } from '../../schema/run.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { CallRecord, Imported } from '../ports/store.ts';
import type { Agent } from '../session/agent.ts';
import { decideOpen } from '../session/decide-open.ts';
import { encodeEvent, parseInput } from '../session/event-codec.ts';
import { type CallFilter, type CommitFilter, type CommitRecord, findCalls, findCommits } from './commits.ts';
import { eventsOf } from './execute.ts';
import { importBundle } from './import-bundle.ts';
import { keyOf, type Scope } from './scope.ts';
import { type Session, sessionHandle } from './session.ts';
import { sessionNotFound } from './session-folds.ts';
import { writeBundle } from './write-bundle.ts';

const Description = z.strictObject({
  title: Text.max(500).optional(),
  metadata: Metadata.optional(),
  /** What it may use in all; by default what its agent says. */
  budget: Limits.optional(),
});
export interface OpenOptions extends z.input<typeof Description> {
  readonly agent?: Agent | undefined;
  /** A session whose facts, decisions, plan and progress it opens with, without the transcript. */
  readonly carryFrom?: Session | SessionId | undefined;
}

const ListOptions = z.strictObject({
  status: z.union([Status, z.array(Status)]).optional(),
  limit: z.int().min(1).max(1000).default(50),
  cursor: z.string().optional(),
});
export type ListOptions = z.input<typeof ListOptions>;

export interface SessionPage {
  readonly sessions: readonly SessionSummary[];
  /** Where the next page goes on; absent on the last one. */
  readonly cursor?: string;
}

export interface Sessions {
  open(options?: OpenOptions): Promise<Session>;
  /** Fails with SESSION_NOT_FOUND when there is none. */
  get(id: string): Promise<Session>;
  /** Newest change first. */
  list(options?: ListOptions): Promise<SessionPage>;
  /** One portable file with these sessions and the lineage they need. */
  export(ids: readonly string[]): AsyncIterable<Uint8Array>;
  import(bundle: AsyncIterable<Uint8Array>): Promise<Imported>;
  /** Across the workspace: which sessions touched a path, in which turn, by which tool. Newest first. */
  commits(filter?: Omit<CommitFilter, 'turns' | 'last'>): Promise<readonly CommitRecord[]>;
  toolCalls(filter?: Omit<CallFilter, 'turns' | 'last'>): Promise<readonly CallRecord[]>;
  /** Makes all that is kept beside the logs anew from them; returns how many events were read. */
  rebuildProjections(): Promise<number>;
}

const cursorOf = ({ updatedAt, id }: SessionSummary): string => `${updatedAt}.${id}`;

const parseCursor = (cursor: string | undefined) => {
  if (cursor === undefined) return undefined;
  const [, updatedAt, id] = /^(\d{1,15})\.(.+)$/.exec(cursor) ?? [];
  const parsed = SessionId.safeParse(id);
  if (!parsed.success) {
    throw new PerdureError('INVALID_INPUT', 'the cursor is not one that a listing gave: leave it out to begin anew');
  }
  return { updatedAt: Number(updatedAt), id: parsed.data };
};

const openSession = async (scope: Scope, input: OpenOptions): Promise<Session> => {
  const { agent, carryFrom, ...rest } = input ?? {};
  const about = parseInput('the session', Description, rest);
  const key = keyOf(scope, newId('ses', scope.clock.now()));
  if (agent?.model !== undefined) await scope.models(agent.model);
  const source = typeof carryFrom === 'string' ? parseInput('carryFrom', SessionId, carryFrom) : carryFrom?.id;
  const carry = source && (await scope.folds.head(keyOf(scope, source)));
  const [first, ...more] = decideOpen({ ...about, agent, carry }, scope.actor);
  const outcome = await scope.store.append({
    ...key,
    writer: { kind: 'outside' },
    at: scope.clock.now(),
    creates: {},
    events: [encodeEvent(first), ...more.map(encodeEvent)],
  });
  if (outcome.outcome !== 'appended') {
    throw new PerdureError('SESSION_EXISTS', `${key.session} exists already: open again`, { details: { ...key } });
  }
  scope.folds.advance(key, undefined, eventsOf(key, [first, ...more], outcome), 0);
  return sessionHandle(scope, key.session);
};

export const sessionsOf = (scope: Scope): Sessions => ({
  open: (options = {}) => openSession(scope, options),
  get: async (id) => {
    const key = keyOf(scope, parseInput('the session id', SessionId, id));
    if (!(await scope.store.head(key))) throw sessionNotFound(key);
    return sessionHandle(scope, key.session);
  },
  list: async (options = {}) => {
    const { status, limit, cursor } = parseInput('the query', ListOptions, options);
    const statuses = typeof status === 'string' ? [status] : status;
    const query = { status: statuses, limit: limit + 1, after: parseCursor(cursor) };
    const found = await scope.store.list(scope.workspace, query);
    const sessions = found.slice(0, limit);
    return { sessions, ...(found.length > limit && { cursor: cursorOf(sessions.at(-1)!) }) };
  },
  export: (ids) => writeBundle(scope, parseInput('the session ids', z.array(SessionId).min(1), ids)),
  import: (bundle) => importBundle(scope, bundle),
  commits: (filter) => findCommits(scope, undefined, filter),
  toolCalls: (filter) => findCalls(scope, undefined, filter),
  rebuildProjections: () => scope.store.rebuildProjections(scope.workspace),
});
