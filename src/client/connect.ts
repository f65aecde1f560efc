import { abortableGenerator } from '../concurrency/abortable-generator.ts';
import type { ChangesOptions, SessionChange } from '../core/engine/changes.ts';
import type { WorkerInfo } from '../core/runs/list-workers.ts';
import type { AgentInfo } from '../core/runtime/agents.ts';
import type { ScopedRuntime } from '../core/runtime/scoped-runtime.ts';
import { dataOf } from './events.ts';
import { filterQuery } from './filters.ts';
import { follow } from './follow.ts';
import { localOnly } from './local-only.ts';
import { approvalsAfar, auditAfar, keysAfar, membersAfar, quotasAfar, vaultAfar, webhooksAfar } from './registry.ts';
import { type ClientSessions, sessionsAfar } from './sessions.ts';
import { type ConnectOptions, freshKey, type Transport, transportTo } from './transport.ts';

type Verbs = Pick<
  ScopedRuntime,
  | 'approvals'
  | 'members'
  | 'quotas'
  | 'keys'
  | 'audit'
  | 'vault'
  | 'webhooks'
  | 'gc'
  | 'changes'
  | 'workers'
  | 'usage'
  | 'worker'
  | 'dispatcher'
>;

/** A member's access to a workspace over HTTP, with the verbs of `runtime.as(…)`. It holds no open resources. */
export interface Client extends Verbs {
  readonly sessions: ClientSessions;
  readonly agents: { list(): Promise<readonly AgentInfo[]> };
}

async function* changesAfar(
  transport: Transport,
  { after }: ChangesOptions,
  signal: AbortSignal,
): AsyncGenerator<SessionChange, void, void> {
  for await (const frame of follow(transport, '/v1/events', { query: { after }, signal })) {
    if (frame.event === 'changed') yield { ...dataOf<Omit<SessionChange, 'after'>>(frame), after: Number(frame.id) };
  }
}

/** Creates a client. No request is sent until a verb is called. */
export const connect = (options: ConnectOptions): Client => {
  const transport = transportTo(options);
  return {
    sessions: sessionsAfar(transport),
    agents: { list: async () => (await transport.json<{ agents: readonly AgentInfo[] }>('/v1/agents')).agents },
    approvals: approvalsAfar(transport),
    members: membersAfar(transport),
    quotas: quotasAfar(transport),
    keys: keysAfar(transport),
    audit: auditAfar(transport),
    vault: vaultAfar(transport),
    webhooks: webhooksAfar(transport),
    gc: ({ dryRun, graceMs } = {}) =>
      transport.json('/v1/gc', { method: 'POST', body: { dryRun, graceMs }, idempotencyKey: freshKey() }),
    changes: (asked = {}) => abortableGenerator(asked.signal, (signal) => changesAfar(transport, asked, signal)),
    workers: async () => (await transport.json<{ workers: readonly WorkerInfo[] }>('/v1/workers')).workers,
    usage: (query) => transport.json('/v1/usage', { query: filterQuery(query) }),
    worker: () => {
      throw localOnly('worker', 'a worker runs where the store is: start `perdure worker` there');
    },
    dispatcher: () => {
      throw localOnly('dispatcher', 'a dispatcher runs where the store is: `perdure serve` includes one');
    },
  };
};
