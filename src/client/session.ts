import type { Retry } from '../core/runs/retry.ts';
import type { Session } from '../core/runtime/session.ts';
import type { Agent, OutputOf, OwnOf } from '../core/session/agent.ts';
import type { CommitRecord } from '../core/session/state/commit-record.ts';
import type { Reversal } from '../core/sessions/revert.ts';
import type { Rewind } from '../core/sessions/rewind.ts';
import type { StateOptions } from '../core/state/read-state.ts';
import type { Replay, ReplayOptions } from '../core/worker/replay.ts';
import type { Damage } from '../schema/damage.ts';
import type { RunId, SessionId } from '../schema/ids.ts';
import type { Json } from '../schema/json.ts';
import type { OwnState } from '../schema/state.ts';
import type { SessionSummary } from '../schema/summary.ts';
import { path, placeText, pointText } from './address.ts';
import { type AgentRef, agentRef } from './agent-ref.ts';
import { commitAfar } from './commit.ts';
import { readEvents } from './events.ts';
import { artifactsAfar, filesAfar } from './files.ts';
import { filterQuery, runsQuery } from './filters.ts';
import type { Listed } from './listed.ts';
import { localOnly } from './local-only.ts';
import { runAfar } from './run.ts';
import { freshKey, type Transport } from './transport.ts';
import { verifyAfar } from './verify.ts';
import { watchCommits } from './watch.ts';

/** A session on a server, with the same verbs as the library's own. */
export interface ClientSession<Own = Record<string, unknown>, Output = unknown>
  extends Omit<Session<Own, Output>, 'bind' | 'fork' | 'replay' | 'repair'> {
  bind<A extends Agent = Agent>(agent: A | AgentRef): Promise<ClientSessionOf<A>>;
  fork(options?: Parameters<Session['fork']>[0]): Promise<ClientSession<Own, Output>>;
  repair(): Promise<{
    readonly damage?: Damage | undefined;
    readonly fork?: ClientSession<Own, Output> | undefined;
  }>;
  /** Accepts a model only by its name. */
  replay(options: Omit<ReplayOptions, 'agent'> & { readonly agent?: AgentRef | undefined }): Promise<Replay>;
}

/** A session of an agent that runs on the server. The client needs only the types of the agent, not its code. */
export type ClientSessionOf<A extends Agent> = ClientSession<OwnOf<A>, OutputOf<A>>;

const namedModel = (model: unknown): unknown => {
  if (model === undefined || typeof model === 'string') return model;
  throw localOnly('replay with a model of this process', 'name a model that the server has, such as anthropic/…');
};

export const sessionAfar = (transport: Transport, id: SessionId): ClientSession<OwnState, Json> => {
  const at = path`/v1/sessions/${id}`;
  const run = (run: RunId) => runAfar(transport, id, run);
  const post = <T>(to: string, body: unknown = {}, idempotencyKey: string = freshKey()): Promise<T> =>
    transport.json<T>(to, { method: 'POST', body, idempotencyKey });
  const move = async (to: string, body?: unknown): Promise<void> =>
    transport.done(to, { method: 'POST', body: body ?? {}, idempotencyKey: freshKey() });
  const pin = (fact: string, method: 'PUT' | 'DELETE') =>
    transport.done(`${at}${path`/pins/${fact}`}`, { method, idempotencyKey: freshKey() });
  return {
    id,
    files: filesAfar(transport, id),
    artifacts: artifactsAfar(transport, id),
    summary: () => transport.json(at),
    append: async (input, { idempotencyKey, files } = {}) => {
      const body = { messages: Array.isArray(input) ? input : [input], files };
      return (await post<Listed<'events', Session['append']>>(`${at}/messages`, body, idempotencyKey)).events;
    },
    update: (about) => transport.done(at, { method: 'PATCH', body: about }),
    share: (options) => move(`${at}/share`, options),
    events: (options) => readEvents(transport, at, options),
    transcript: ({ at: point, ...page } = {}) =>
      transport.json(`${at}/transcript`, { query: { ...page, at: pointText(point) } }),
    context: async ({ at: point, maxTokens, instructions } = {}) => {
      if (instructions !== undefined) throw localOnly('context({ instructions })', 'leave them out');
      return transport.json(`${at}/context`, { query: { at: pointText(point), maxTokens } });
    },
    pause: (options) => move(`${at}/pause`, options),
    resume: () => move(`${at}/resume`),
    close: (options) => move(`${at}/close`, options),
    reopen: () => move(`${at}/reopen`),
    archive: () => move(`${at}/archive`),
    unarchive: () => move(`${at}/unarchive`),
    send: async (input, { policy, notBefore, idempotencyKey } = {}) => {
      const asked = { input, policy, notBefore: notBefore === undefined ? undefined : Number(notBefore) };
      const sent = await post<{ readonly run: RunId }>(`${at}/runs`, asked, idempotencyKey);
      return run(sent.run);
    },
    inputs: async () => (await transport.json<Listed<'inputs', Session['inputs']>>(`${at}/inputs`)).inputs,
    run: async (wanted) => {
      await transport.json(`${at}${path`/runs/${wanted}`}`);
      return run(wanted as RunId);
    },
    runs: (options) => transport.json(`${at}/runs`, { query: runsQuery(options) }),
    cancel: async (wanted) => {
      if (wanted === undefined) return (await post<{ readonly run?: RunId }>(`${at}/cancel`)).run;
      await run(wanted).cancel();
      return wanted;
    },
    answer: (call, text) => move(`${at}${path`/answers/${call}`}`, { text }),
    approve: (approval, options) => move(path`/v1/approvals/${approval}/approve`, options),
    deny: (approval, options) => move(path`/v1/approvals/${approval}/deny`, options),
    handoff: (options) => move(`${at}/handoff`, options),
    limit: (limits, options) => move(`${at}/limits`, { limits, ...options }),
    usage: () => transport.json(`${at}/usage`),
    state: ({ at: point, path: part }: StateOptions & { readonly path?: string | undefined } = {}) =>
      transport.json<never>(`${at}/state`, { query: { at: pointText(point), path: part } }),
    commit: (change, options) => commitAfar(transport, at, change, options),
    lift: (paths, options) => post(`${at}/lift`, { paths: typeof paths === 'string' ? [paths] : paths, ...options }),
    taint: () => transport.json(`${at}/taint`),
    clearTaint: (options) => post(`${at}/taint/clear`, options),
    commits: (filter) => transport.json(`${at}/commits`, { query: filterQuery(filter) }),
    toolCalls: (filter) => transport.json(`${at}/tool-calls`, { query: filterQuery(filter) }),
    watchCommits: (filter) => watchCommits(transport, at, filter),
    trace: (entry, options) => transport.json(`${at}/trace`, { query: { path: entry, ...options } }),
    revert: async (seq, options) => {
      type Answer = { readonly commit?: CommitRecord; readonly files?: Reversal['files'] };
      const { commit, files = [] } = await post<Answer>(`${at}${path`/commits/${seq}/revert`}`, options);
      return commit && { ...commit, files };
    },
    adopt: (branch, options) =>
      post(`${at}/adopt`, { branch: typeof branch === 'string' ? branch : branch.id, ...options }),
    diff: async (from, to, options) =>
      transport.json(`${at}/diff`, { query: { from: placeText(from), to: placeText(to), ...options } }),
    compare: async (branches) => transport.json(`${at}/compare`, { query: { branch: branches.map(placeText) } }),
    bind: async <A extends Agent>(agent: A | AgentRef) => {
      await move(`${at}/bind`, agentRef(agent));
      return sessionAfar(transport, id) as ClientSessionOf<A>;
    },
    pin: (fact) => pin(fact, 'PUT'),
    unpin: (fact) => pin(fact, 'DELETE'),
    compact: async ({ keepTurns, summarize } = {}) => {
      if (summarize) throw localOnly('compact({ summarize })', 'leave it out, and the server makes the summary');
      type Answer = { readonly compaction?: Awaited<ReturnType<Session['compact']>> };
      return (await post<Answer>(`${at}/compact`, { keepTurns })).compaction;
    },
    recall: async (key) =>
      (await transport.json<{ readonly value?: unknown }>(`${at}/recall`, { query: { key } })).value,
    track: async () => {
      throw localOnly('track', 'use beginCall before a tool runs and endCall after it');
    },
    beginCall: (call, { idempotencyKey } = {}) => post(`${at}/tool-calls`, call, idempotencyKey),
    endCall: (callId, end, { idempotencyKey = freshKey() } = {}) =>
      transport.done(`${at}${path`/tool-calls/${callId}/end`}`, { method: 'POST', body: end, idempotencyKey }),
    retry: async (options): Promise<Retry<Json>> => {
      const { run: started, ...retry } = await post<Omit<Retry, 'run'> & { readonly run?: RunId }>(
        `${at}/retry`,
        options,
      );
      return { ...retry, ...(started && { run: run(started) }) };
    },
    attempts: (options = {}) => transport.json(`${at}/attempts`, { query: options }),
    replay: async ({ turn, agent, model, live }) =>
      post(`${at}/replay`, { turn, model: namedModel(model), live, ...(agent && { agent: agentRef(agent) }) }),
    fork: async (options) => sessionAfar(transport, (await post<SessionSummary>(`${at}/fork`, options)).id),
    rewind: async (options) => {
      const { cancelled, happened } = await post<Rewind>(`${at}/rewind`, options);
      return { cancelled, happened };
    },
    happened: ({ after } = {}) => transport.json(`${at}/happened`, { query: { after: pointText(after) } }),
    tree: () => transport.json(`${at}/tree`),
    verify: (options) => verifyAfar(transport, at, options),
    damage: async () => (await transport.json<{ readonly damage?: Damage }>(`${at}/damage`)).damage,
    repair: async () => {
      type Answer = { readonly damage?: Damage; readonly fork?: SessionSummary };
      const { damage, fork } = await post<Answer>(`${at}/repair`);
      return { damage, ...(fork && { fork: sessionAfar(transport, fork.id) }) };
    },
    export: () => transport.chunks(`${at}/export`),
  };
};
