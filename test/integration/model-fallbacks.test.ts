import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type Model, ModelFailure } from '../../src/core/ports/model.ts';
import type { AgentPolicies } from '../../src/core/session/agent.ts';
import {
  type AgentDefinition,
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type RuntimeOptions,
  type Session,
} from '../../src/index.ts';
import type { PayloadOf } from '../../src/schema/event.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { chatApi } from '../support/providers/chat-api.ts';
import { messagesApi } from '../support/providers/messages-api.ts';
import type { Reply } from '../support/providers/provider-api.ts';
import { startProvider, testKey } from '../support/providers/provider-server.ts';
import { responsesApi } from '../support/providers/responses-api.ts';
import { startRuns } from '../support/runs/start-runs.ts';
import { freePort } from '../support/servers/free-port.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const apis = { anthropic: messagesApi, openai: responsesApi, local: chatApi } as const;
type Name = keyof typeof apis;
const modelOf = (name: Name): string =>
  ({ anthropic: 'anthropic/claude-sonnet-4-5', openai: 'openai/gpt-5', local: 'local/qwen3' })[name];

const read = defineTool({
  name: 'read',
  input: z.object({ path: z.string() }),
  effects: 'none',
  execute: ({ path }) => `content of ${path}`,
});

const prices = { anthropic: 10, openai: 1, local: 0.1 } as const;

/** An agent whose models are these providers, in this order. */
const start = async (
  names: readonly Name[],
  { policies, models }: { policies?: AgentPolicies; models?: RuntimeOptions['models'] } = {},
) => {
  const servers = await Promise.all(names.map((name) => startProvider(apis[name])));
  undo.push(() => Promise.all(servers.map((server) => server.close())));
  const agent = defineAgent({
    name: 'reader',
    model: names.map(modelOf),
    tools: [read],
    policies: { maxModelWaitMs: 20, ...policies },
  });
  const runtime = await openRuntime({
    store: openMemoryStore(),
    agents: [agent],
    worker: false,
    timing: { modelBackoffMs: 1 },
    models: {
      env: {},
      providers: Object.fromEntries(names.map((name, n) => [name, { baseUrl: servers[n]!.url, apiKey: testKey }])),
      models: Object.fromEntries(names.map((name) => [modelOf(name), { price: { input: prices[name], output: 0 } }])),
      ...models,
    },
  });
  undo.push(() => runtime.close());
  await runtime.worker().start();
  return { servers, runtime, agent, session: await runtime.sessions.open({ agent }) };
};

const eventsOf = async <Type extends 'model.called' | 'model.completed' | 'model.failed' | 'message.appended'>(
  session: Session,
  type: Type,
): Promise<readonly PayloadOf<Type>[]> =>
  (await Array.fromAsync(session.events())).flatMap((event) =>
    event.type === type ? [event.payload as PayloadOf<Type>] : [],
  );
const asked = async (session: Session) => (await eventsOf(session, 'model.called')).map(({ model }) => model);

const overloaded: Reply = { status: { status: 529, message: 'Overloaded' } };
const done = (text = 'Done.'): Reply => ({ answer: { text } });
/** Each call has its own id, because a provider checks that it gets back the reasoning that led to its call. */
const looks = (thinking: string, id = 'call_a'): Reply => ({
  answer: { thinking, text: 'Looking.', calls: [{ id, tool: 'read', input: '{"path":"a.txt"}' }] },
});

const pairs = (Object.keys(apis) as Name[]).flatMap((first) =>
  (Object.keys(apis) as Name[]).flatMap((second) => (first === second ? [] : [[first, second] as const])),
);

describe.each(pairs)('from %s to %s', (first, second) => {
  test('[FALL1, FALL4, FALL9, FALL10] a run goes on with the fallback in the middle of a turn, and the next turn begins with the first model', async () => {
    const { servers, session } = await start([first, second]);
    servers[0]!.reply(looks('A secret thought.'), overloaded, done('Well again.'));
    servers[1]!.reply(looks('Another thought.', 'call_b'), done());
    const run = await session.send('Read it');
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    const [a, b] = [modelOf(first), modelOf(second)];
    expect(await asked(session)).toEqual([a, a, b, b]);
    expect(await eventsOf(session, 'model.failed')).toMatchObject([{ model: a, failure: 'unavailable', next: b }]);

    // The fallback receives the call and its result, but no reasoning and no metadata of the other provider.
    const [received] = servers[1]!.requests;
    expect(JSON.stringify(received)).toContain('content of a.txt');
    expect(JSON.stringify(received)).not.toMatch(/A secret thought|sig-1|"signature"|"encrypted_content":/);

    const completed = await eventsOf(session, 'model.completed');
    expect(completed.map(({ model }) => model)).toEqual([a, b, b]);
    expect(completed[0]!.usage.usd! / completed[1]!.usage.usd!).toBeCloseTo(prices[first] / prices[second], 6);
    const written = (await session.transcript()).entries.filter(({ message }) => message.role === 'assistant');
    expect(written.map(({ model }) => model)).toEqual([a, b, b]);

    expect(await (await session.send('And now?')).result()).toMatchObject({ output: 'Well again.' });
    expect((await asked(session)).at(-1)).toBe(a);
    // It receives its own reasoning back, and that of the fallback never.
    expect(JSON.stringify(servers[0]!.requests.at(-1))).not.toContain('Another thought.');
  });
});

test.each([
  [{ status: { status: 429, message: 'slow down', headers: { 'retry-after': '3600' } } }, 'rate-limit', 1],
  [{ status: { status: 503, message: 'busy' } }, 'unavailable', 1],
  [{ answer: { text: 'Half of it.' }, fault: 'disconnect' }, 'broken-stream', 1],
  [{ status: { status: 401, message: 'invalid x-api-key' } }, 'unusable', 0],
  [{ status: { status: 403, message: 'not for you' } }, 'unusable', 0],
  [{ status: { status: 404, message: 'no such model' } }, 'unusable', 0],
] as const)('[FALL2] after %j the next model is asked immediately (%s)', async (reply: Reply, failure, again) => {
  const { servers, session } = await start(['anthropic', 'openai']);
  servers[0]!.reply(reply, done('From the first.'));
  servers[1]!.reply(looks(''), overloaded, done('From the second.'));
  // The fallback fails in its second step. Only a model that may still be asked is asked before the run waits.
  const output = again ? 'From the first.' : 'From the second.';
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded', output });
  const failures = await eventsOf(session, 'model.failed');
  expect(failures[0]).toMatchObject({ failure, next: 'openai/gpt-5' });
  expect(failures[0]!.retryInMs).toBeUndefined();
  expect(servers[0]!.requests).toHaveLength(1 + again);
});

test('[FALL2] a provider that cannot be reached, and models that are not configured, are passed over', async () => {
  const script = defineScript({ steps: [{ text: 'Only a script.' }] });
  const agent = defineAgent({ name: 'mixed', model: ['anthropic/none', 'away/none', 'nonsense', script] });
  const runtime = await openRuntime({
    store: openMemoryStore(),
    agents: [agent],
    models: { env: {}, providers: { away: { baseUrl: `http://127.0.0.1:${await freePort()}/v1` } } },
  });
  undo.push(() => runtime.close());
  const mixed = await runtime.sessions.open({ agent });
  expect(await (await mixed.send('Go')).result()).toMatchObject({ output: 'Only a script.' });
  expect(await eventsOf(mixed, 'model.failed')).toMatchObject([
    { model: 'anthropic/none', failure: 'unconfigured', next: 'away/none' },
    { model: 'away/none', failure: 'unavailable', next: 'nonsense' },
    { model: 'nonsense', failure: 'unconfigured', next: 'scripted/script' },
  ]);
  expect(await asked(mixed)).toEqual(['away/none', 'scripted/script']);
});

test('[RUN15, FALL2] a session opens if one model is configured, and otherwise the error names what each lacks', async () => {
  const both = ['anthropic/a', 'openai/b'];
  const runtime = await openRuntime({ store: openMemoryStore(), models: { env: { OPENAI_API_KEY: 'some-key' } } });
  undo.push(() => runtime.close());
  await runtime.sessions.open({ agent: defineAgent({ name: 'one', model: both }) });
  const none = await openRuntime({ store: openMemoryStore(), models: { env: {} } });
  undo.push(() => none.close());
  await expect(none.sessions.open({ agent: defineAgent({ name: 'none', model: both }) })).rejects.toMatchObject({
    code: 'HOSTED_MODEL_UNAVAILABLE',
    message: expect.stringMatching(/anthropic\/a: set ANTHROPIC_API_KEY.*openai\/b: set OPENAI_API_KEY/),
  });
});

test.each([
  ['a wrong request', { status: { status: 400, message: 'tools.0.name: invalid' } }],
  ['a refused content', { status: { status: 403, message: 'Your input was flagged by moderation' } }],
] as const)('[FALL3] %s fails the run although a fallback is left', async (_, reply) => {
  const { servers, session } = await start(['anthropic', 'openai']);
  servers[0]!.reply(reply);
  expect(await (await session.send('Go')).result()).toMatchObject({ error: { code: 'MODEL_REFUSED' } });
  expect(servers[1]!.requests).toHaveLength(0);
});

const answering = (name: string, answer: Model['answer'], contextTokens = 100_000): Model => ({
  name,
  contextTokens,
  price: null,
  answer,
});
const says = (name: string, text: string, contextTokens?: number) =>
  answering(
    name,
    async () => ({ parts: [{ type: 'text', text }], finish: 'stop', usage: { inputTokens: 1, outputTokens: 1 } }),
    contextTokens,
  );
const fails = (name: string, kind: ConstructorParameters<typeof ModelFailure>[0], retryAfterMs?: number) => {
  const requests: string[] = [];
  const model = answering(name, (request) => {
    requests.push(request.messages.length.toString());
    return Promise.reject(new ModelFailure(kind, `${name} says no`, { retryAfterMs }));
  });
  return { ...model, requests };
};
const startModels = async (model: AgentDefinition['model'], more: Partial<AgentDefinition> = {}) => {
  const setup = await startRuns({ model: model!, ...more });
  undo.push(() => setup.runtime.close());
  return setup;
};

test('[FALL3] an answer that a filter stops fails the run although a fallback is left', async () => {
  const filtered = answering('a/filtered', async () => ({
    parts: [{ type: 'text', text: 'I' }],
    finish: 'content-filter',
    usage: { inputTokens: 1, outputTokens: 1 },
  }));
  const { session } = await startModels([filtered, says('b/other', 'Never asked.')]);
  expect(await (await session.send('Go')).result()).toMatchObject({ error: { code: 'MODEL_CONTENT_FILTER' } });
  expect(await asked(session)).toEqual(['a/filtered']);
});

test('[FALL5, FALL6] when every model has failed the run waits, begins with the first again, and fails with the last reason', async () => {
  const [a, b] = [fails('a/a', 'unavailable'), fails('b/b', 'rate-limit')];
  const { session } = await startModels([a, b], { policies: { maxModelWaitMs: 20 } });
  expect(await (await session.send('Go')).result()).toMatchObject({
    status: 'failed',
    error: { code: 'MODEL_RATE_LIMIT', message: 'b/b says no' },
  });
  const failures = await eventsOf(session, 'model.failed');
  const waits = failures.flatMap(({ retryInMs }) => retryInMs ?? []);
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBe(20);
  expect(waits.length).toBeGreaterThan(2);
  expect(failures.map(({ model, next, retryInMs }) => [model, next ?? retryInMs !== undefined])).toEqual([
    ...waits.flatMap(() => [
      ['a/a', 'b/b'],
      ['b/b', true],
    ]),
    ['a/a', 'b/b'],
    ['b/b', false],
  ]);
});

test('[FALL6] a run whose models cannot be used fails without waiting', async () => {
  const [a, b] = [fails('a/a', 'unusable'), fails('b/b', 'unusable')];
  const { session } = await startModels([a, b], { policies: { maxModelWaitMs: 60_000 } });
  expect(await (await session.send('Go')).result()).toMatchObject({
    error: { code: 'MODEL_REFUSED', message: 'b/b says no' },
  });
  expect([a.requests.length, b.requests.length]).toEqual([1, 1]);
});

test('[FALL5] the wait is as long as the longest that a provider requested', async () => {
  const { session } = await startModels([fails('a/a', 'rate-limit', 90_000), fails('b/b', 'unavailable')]);
  await session.send('Go');
  await expect.poll(() => eventsOf(session, 'model.failed')).toHaveLength(2);
  const [, last] = await eventsOf(session, 'model.failed');
  expect(last!.retryInMs).toBeGreaterThan(80_000);
  expect(last!.retryInMs).toBeLessThanOrEqual(90_000);
  await session.cancel();
});

test('[FALL8] with wait only the first model is asked, and with fail it is asked once', async () => {
  for (const [onModelFailure, isOnce] of [
    ['wait', false],
    ['fail', true],
  ] as const) {
    const [a, b] = [fails('a/a', 'unavailable'), fails('b/b', 'unavailable')];
    const { session } = await startModels([a, b], { policies: { onModelFailure, maxModelWaitMs: 20 } });
    expect(await (await session.send('Go')).result()).toMatchObject({ error: { code: 'MODEL_UNAVAILABLE' } });
    expect(a.requests.length === 1).toBe(isOnce);
    expect(b.requests).toHaveLength(0);
  }
});

test('[FALL8, RUN11] with fail a context that is too long is still compacted once', async () => {
  const { session, types } = await startModels(fails('a/a', 'overflow'), { policies: { onModelFailure: 'fail' } });
  await session.append([
    { role: 'user', content: 'before' },
    { role: 'assistant', content: 'what is compacted' },
  ]);
  expect(await (await session.send('Go')).result()).toMatchObject({ error: { code: 'MODEL_OVERFLOW' } });
  expect((await types()).filter((type) => type === 'context.compacted')).toHaveLength(1);
});

test('[FALL2, FALL10] a model that still rejects the compacted context, and one with too small a window, are passed over', async () => {
  const long = 'word '.repeat(6000);
  const rejects = fails('a/rejects', 'overflow');
  const { session } = await startModels([rejects, says('b/small', 'Never.', 4000), says('c/large', 'Fits.')], {
    settings: { maxOutputTokens: 1000 },
  });
  expect(await (await session.send(long)).result()).toMatchObject({ status: 'succeeded', output: 'Fits.' });
  expect(await asked(session)).toEqual(['a/rejects', 'a/rejects', 'c/large']);
  expect(await eventsOf(session, 'model.failed')).toMatchObject([
    { model: 'a/rejects', failure: 'overflow', retryInMs: 0 },
    { model: 'a/rejects', failure: 'overflow', next: 'b/small' },
    { model: 'b/small', failure: 'overflow', next: 'c/large' },
  ]);
  expect((await session.replay({ turn: 1 })).departures, 'a replay takes the same way').toEqual([]);
});

test('[BUDGET3] zeros that a provider reports for a broken-off answer do not replace the estimate', async () => {
  const breaks = answering('a/breaks', async (_, show) => {
    show({ kind: 'text', text: 'word'.repeat(100) });
    throw new ModelFailure('broken-stream', 'gone', { usage: { inputTokens: 0, outputTokens: 0 } });
  });
  const { session, runtime } = await startModels([breaks, says('b/other', 'Done.')]);
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
  expect((await runtime.usage({ by: 'model' })).rows).toMatchObject([
    { key: 'a/breaks', calls: 1, own: { outputTokens: 100 } },
    { key: 'b/other', calls: 1, own: { tokens: 2 } },
  ]);
});

test('[FALL10] the context is assembled for the window of the fallback, larger or smaller', async () => {
  const lengths: Record<string, number> = {};
  const measured = (name: string, contextTokens: number, isDown: () => boolean): Model =>
    answering(
      name,
      async ({ messages, instructions }) => {
        if (isDown()) throw new ModelFailure('unavailable', 'down');
        lengths[name] = JSON.stringify(messages).length + instructions.length;
        return { parts: [{ type: 'text', text: 'ok' }], finish: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
      },
      contextTokens,
    );
  let isDown = false;
  const models = [measured('a/large', 50_000, () => isDown), measured('b/small', 6000, () => false)];
  const { session } = await startModels(models, { settings: { maxOutputTokens: 1000 } });
  for (let turn = 1; turn <= 3; turn++) await (await session.send('word '.repeat(2500))).result();
  isDown = true;
  expect(await (await session.send('And now?')).result()).toMatchObject({ status: 'succeeded' });
  expect(lengths['a/large']).toBeGreaterThan(30_000);
  expect(lengths['b/small']).toBeLessThan(4 * 6000);
});

test('[FALL10] a budget in USD is checked with the price of the model that is asked, and the wait names it', async () => {
  const { session } = await startModels([
    { ...fails('a/a', 'unavailable'), price: { input: 0, output: 0 } },
    says('b/b', 'x'),
  ]);
  await session.limit({ usd: 1 });
  expect(await (await session.send('Go')).result()).toMatchObject({
    status: 'waiting',
    waitingFor: 'budget',
    reason: expect.stringContaining('the price of b/b is not known'),
  });
});

test('[FALL9] a model of another provider receives no reasoning and no metadata, one of the same provider receives both', async () => {
  const received: Record<string, string> = {};
  const noting = (name: string): Model =>
    answering(name, async ({ messages }) => {
      received[name] = JSON.stringify(messages);
      if (name !== 'c/last') throw new ModelFailure('unavailable', 'down');
      return { parts: [{ type: 'text', text: 'ok' }], finish: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
    });
  let isDown = false;
  const first = answering('a/first', async () => {
    if (isDown) throw new ModelFailure('unavailable', 'down');
    isDown = true;
    const provider = { a: { signature: 'signed-by-a' } };
    return {
      parts: [
        { type: 'reasoning', text: 'A thought.', provider },
        { type: 'text', text: 'Looking.', provider },
        { type: 'tool-call', callId: 'call_a', tool: 'read', input: { path: 'a' }, provider },
      ],
      finish: 'tool-calls',
      usage: { inputTokens: 1, outputTokens: 1 },
    };
  });
  const { session } = await startModels([first, noting('a/second'), noting('c/last')], { tools: [read] });
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  expect(received['a/second']).toContain('A thought.');
  expect(received['a/second']!.match(/signed-by-a/g)).toHaveLength(3);
  expect(received['c/last']).toContain('Looking.');
  expect(received['c/last']).toContain('content of a');
  expect(received['c/last']).not.toMatch(/A thought|signed-by-a|provider/);
});

test('[FALL13, REPLAY3] a replay asks the recorded models in the recorded order, and does not diverge', async () => {
  const { servers, session } = await start(['anthropic', 'openai']);
  servers[0]!.reply(looks('Hm.'), overloaded, overloaded);
  servers[1]!.reply(overloaded, looks('Hm?', 'call_b'), done());
  expect(await (await session.send('Read it')).result()).toMatchObject({ status: 'succeeded' });
  const before = servers.map(({ requests }) => requests.length);
  const replay = await session.replay({ turn: 1 });
  expect(replay.departures).toEqual([]);
  expect(servers.map(({ requests }) => requests.length)).toEqual(before);
});

test('[FALL1] the stream of a run says that an answer broke off and which model is asked instead', async () => {
  const { servers, session } = await start(['anthropic', 'openai']);
  servers[0]!.reply({ answer: { text: 'Half of an answer.' }, fault: 'disconnect' });
  servers[1]!.reply(done());
  const parts = await Array.fromAsync((await session.send('Go')).stream());
  expect(parts.find(({ type }) => type === 'restart')).toMatchObject({
    reason: expect.stringContaining('the run asks openai/gpt-5 instead'),
  });
  expect(parts.at(-1)).toMatchObject({ type: 'end', result: { status: 'succeeded', output: 'Done.' } });
});
