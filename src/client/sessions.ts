import type { ImportOptions } from '../core/bundles/import-options.ts';
import type { Imported } from '../core/ports/store.ts';
import type { Sessions } from '../core/runtime/sessions.ts';
import type { Agent } from '../core/session/agent.ts';
import type { OpenOptions } from '../core/sessions/open-session.ts';
import { SessionId } from '../schema/ids.ts';
import { parseInput } from '../schema/parse-input.ts';
import type { SessionSummary } from '../schema/summary.ts';
import { path } from './address.ts';
import { type AgentRef, agentRef } from './agent-ref.ts';
import { filterQuery, listQuery, runsQuery } from './filters.ts';
import type { Listed } from './listed.ts';
import { localOnly } from './local-only.ts';
import { type ClientSessionOf, sessionAfar } from './session.ts';
import { freshKey, type Transport } from './transport.ts';

export interface ClientOpenOptions<A extends Agent = Agent> extends Omit<OpenOptions, 'agent'> {
  readonly agent?: A | AgentRef | undefined;
}

export interface ClientSessions extends Omit<Sessions, 'open' | 'get' | 'import'> {
  /**
   * To type the session, pass the agent itself, `open({ agent })`, or only its type, `open<typeof agent>({ agent:
   * 'NAME' })`.
   */
  open<A extends Agent = Agent>(options?: ClientOpenOptions<A>): Promise<ClientSessionOf<A>>;
  /** `get<typeof agent>(id)` types the session like the agent that it is bound to. */
  get<A extends Agent = Agent>(id: string): Promise<ClientSessionOf<A>>;
  /** Imports a bundle. The server sets the limits on its size. */
  import(bundle: AsyncIterable<Uint8Array>, options?: Pick<ImportOptions, 'signal'>): Promise<Imported>;
}

const idOf = (session: SessionId | { readonly id: SessionId }): SessionId =>
  typeof session === 'object' ? session.id : session;

const carriedFrom = (from: OpenOptions['carryFrom']) => {
  if (typeof from !== 'object' || 'id' in from) return from && idOf(from);
  return { session: idOf(from.session), files: from.files };
};

export const sessionsAfar = (transport: Transport): ClientSessions => ({
  open: async <A extends Agent>({ agent, carryFrom, files, ...about }: ClientOpenOptions<A> = {}) => {
    if (files) throw localOnly('open({ files })', 'open the session, then write its files with session.files.write');
    const body = {
      ...about,
      ...(agent && { agent: agentRef(agent) }),
      carryFrom: carriedFrom(carryFrom),
    };
    const asked = { method: 'POST', body, idempotencyKey: freshKey() } as const;
    const { id } = await transport.json<SessionSummary>('/v1/sessions', asked);
    return sessionAfar(transport, id) as ClientSessionOf<A>;
  },
  get: async <A extends Agent>(id: string) => {
    const session = parseInput('the session id', SessionId, id);
    await transport.json(path`/v1/sessions/${session}`);
    return sessionAfar(transport, session) as ClientSessionOf<A>;
  },
  list: (options) => transport.json('/v1/sessions', { query: listQuery(options) }),
  export: (ids) => transport.chunks('/v1/export', { query: { session: ids } }),
  import: (bundle, { signal } = {}) => transport.json('/v1/import', { method: 'POST', content: bundle, signal }),
  commits: (filter) => transport.json('/v1/commits', { query: filterQuery(filter) }),
  toolCalls: (filter) => transport.json('/v1/tool-calls', { query: filterQuery(filter) }),
  runs: (options) => transport.json('/v1/runs', { query: runsQuery(options) }),
  rebuildProjections: async () =>
    (
      await transport.json<Listed<'events', Sessions['rebuildProjections']>>('/v1/rebuild-projections', {
        method: 'POST',
        body: {},
        idempotencyKey: freshKey(),
      })
    ).events,
});
