import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  type Model,
  type ModelAnswer,
  type ModelDelta,
  ModelFailure,
  type ModelRequest,
} from '../../src/core/ports/model.ts';
import { resolveModels } from '../../src/models/resolve-model.ts';
import { newId } from '../../src/schema/ids.ts';
import type { AssistantPart, Message, ToolOutcome } from '../../src/schema/message.ts';
import { Message as MessageSchema } from '../../src/schema/message.ts';
import { chatApi } from '../support/providers/chat-api.ts';
import { messagesApi } from '../support/providers/messages-api.ts';
import type { Body, ProviderApi, StreamFault } from '../support/providers/provider-api.ts';
import { type ProviderServer, startProvider, testKey } from '../support/providers/provider-server.ts';
import { responsesApi } from '../support/providers/responses-api.ts';

interface Case {
  readonly api: ProviderApi;
  readonly model: string;
  readonly keyName: string;
  readonly urlName: string;
  /** Whether the API signs reasoning and expects it back. */
  readonly signs: boolean;
}

const cases: Readonly<Record<string, Case>> = {
  'Anthropic Messages': {
    api: messagesApi,
    model: 'anthropic/claude-sonnet-4-5',
    keyName: 'ANTHROPIC_API_KEY',
    urlName: 'ANTHROPIC_BASE_URL',
    signs: true,
  },
  'OpenAI Responses': {
    api: responsesApi,
    model: 'openai/gpt-5',
    keyName: 'OPENAI_API_KEY',
    urlName: 'OPENAI_BASE_URL',
    signs: true,
  },
  'Chat Completions': {
    api: chatApi,
    model: 'local/qwen3',
    keyName: 'PERDURE_PROVIDER_LOCAL_API_KEY',
    urlName: 'PERDURE_PROVIDER_LOCAL_BASE_URL',
    signs: false,
  },
};

const user = (text: string): Message => ({ id: newId('msg'), role: 'user', content: [{ type: 'text', text }] });
const said = (parts: readonly AssistantPart[]): Message => ({
  id: newId('msg'),
  role: 'assistant',
  content: [...parts],
});
const results = (parts: readonly AssistantPart[], ...outcomes: (readonly [ToolOutcome, string])[]): Message => ({
  id: newId('msg'),
  role: 'tool',
  content: parts
    .filter((part) => part.type === 'tool-call')
    .map(({ callId, tool }, index) => {
      const [outcome, output] = outcomes[index] ?? ['ok', 'fine'];
      return { type: 'tool-result', callId, tool, outcome, output };
    }),
});

const offer = (name: string) => ({
  name,
  description: `${name} a path`,
  input: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'], additionalProperties: false },
});
const requestOf = (messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  instructions: 'Be brief.',
  messages,
  tools: [offer('read'), offer('list')],
  settings: {},
  signal: new AbortController().signal,
  ...more,
});

const twoCalls = [
  { id: 'call_a', tool: 'read', input: '{"path":"a.txt"}' },
  { id: 'call_b', tool: 'list', input: '{"path":"b"}' },
];
const asked = { thinking: 'I should look first.', text: 'Looking now.', calls: twoCalls };
const silent = () => {};

describe.each(Object.entries(cases))('%s', (_, { api, model: name, keyName, urlName, signs }) => {
  let server: ProviderServer;
  let model: Model;
  const open = (env: Record<string, string> = {}, stallMs?: number) =>
    resolveModels({
      env: { [keyName]: testKey, [urlName]: server.url, ...env },
      models: { [name]: { contextTokens: 8192, price: { input: 1, output: 10, cachedInput: 0.5 } } },
      stallMs,
    })(name);
  beforeEach(async () => {
    server = await startProvider(api);
    model = await open();
  });
  afterEach(() => server.close());

  const failureOf = async (asking: Promise<ModelAnswer>): Promise<ModelFailure> => {
    const error = await asking.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ModelFailure);
    return error as ModelFailure;
  };
  const failing = (request = requestOf([user('Go')])) => failureOf(model.answer(request, silent));

  test('[MODEL1] an answer has its reasoning, text and calls in order, its usage and its cost', async () => {
    server.reply({ answer: asked });
    const deltas: ModelDelta[] = [];
    const { parts, finish, usage } = await model.answer(requestOf([user('Go')]), (delta) => deltas.push(delta));
    expect(parts).toMatchObject([
      { type: 'reasoning', text: 'I should look first.' },
      { type: 'text', text: 'Looking now.' },
      { type: 'tool-call', callId: 'call_a', tool: 'read', input: { path: 'a.txt' } },
      { type: 'tool-call', callId: 'call_b', tool: 'list', input: { path: 'b' } },
    ]);
    expect(finish).toBe('tool-calls');
    expect(usage).toMatchObject({ inputTokens: 100, outputTokens: 30, cachedTokens: 40, reasoningTokens: 10 });
    expect(usage.usd).toBeCloseTo((60 * 1 + 40 * 0.5 + 30 * 10) / 1e6, 12);
    const written = (kind: ModelDelta['kind']) =>
      deltas.flatMap((delta) => (delta.kind === kind ? [delta.text] : [])).join('');
    expect(written('text')).toBe('Looking now.');
    expect(written('reasoning')).toBe('I should look first.');
    expect(written('tool-input')).toBe(twoCalls.map(({ input }) => input).join(''));
    expect(model.contextTokens).toBe(8192);
    expect(MessageSchema.safeParse(said(parts)).success).toBe(true);
  });

  test('[MODEL2] a turn continues after its results, even in a process that knows it only from the log', async () => {
    server.reply({ answer: asked }, { answer: { text: 'Done.' } }, { answer: { text: 'Hello again.' } });
    const opening = user('Go');
    const { parts } = await model.answer(requestOf([opening]), silent);
    const kept: Message[] = JSON.parse(
      JSON.stringify([opening, said(parts), results(parts, ['ok', 'A'], ['threw', 'no'])]),
    );
    const elsewhere = await open();
    const { parts: done, finish } = await elsewhere.answer(requestOf(kept), silent);
    expect(done).toMatchObject([{ type: 'text', text: 'Done.' }]);
    expect(finish).toBe('stop');
    const later = await elsewhere.answer(requestOf([...kept, said(done), user('And?'), user('Hello?')]), silent);
    expect(later.parts).toMatchObject([{ text: 'Hello again.' }]);
    expect(JSON.stringify(server.requests[1])).toContain('[threw] no');
  });

  test('[MODEL2] a provider that signs reasoning rejects a turn whose reasoning is missing', async () => {
    server.reply({ answer: asked }, { answer: { text: 'Done.' } });
    const { parts } = await model.answer(requestOf([user('Go')]), silent);
    const stripped = parts.map(({ provider: _, ...part }) => part as AssistantPart);
    const asking = model.answer(requestOf([user('Go'), said(stripped), results(parts)]), silent);
    if (signs)
      await expect(asking).rejects.toMatchObject({
        failure: 'refused',
        message: expect.stringMatching(/thinking|reasoning/),
      });
    else await expect(asking).resolves.toMatchObject({ parts: [{ text: 'Done.' }] });
  });

  test('[MODEL3] every outcome of a call is described to the model', async () => {
    const outcomes = [
      ['timeout', 'took 30 s'],
      ['denied', 'not on a Friday'],
    ] as const;
    server.reply({ answer: { calls: twoCalls } }, { answer: { text: 'I see.' } });
    const { parts } = await model.answer(requestOf([user('Go')]), silent);
    await model.answer(requestOf([user('Go'), said(parts), results(parts, ...outcomes)]), silent);
    for (const [outcome, text] of outcomes) {
      expect(JSON.stringify(server.requests[1])).toContain(`[${outcome}] ${text}`);
    }
  });

  test('[MODEL4] a call whose input is not JSON keeps its text, and the conversation continues', async () => {
    const torn = '{"path": "a.t';
    server.reply({ answer: { calls: [{ id: 'call_a', tool: 'read', input: torn }] } }, { answer: { text: 'Sorry.' } });
    const { parts } = await model.answer(requestOf([user('Go')]), silent);
    expect(parts).toMatchObject([{ type: 'tool-call', tool: 'read', input: torn }]);
    const next = [user('Go'), said(parts), results(parts, ['invalid_input', 'no JSON'])];
    expect((await model.answer(requestOf(next), silent)).parts).toMatchObject([{ text: 'Sorry.' }]);
  });

  test('[MODEL4] a call never reuses the id of an earlier one', async () => {
    const call = { answer: { calls: [{ id: 'call_1', tool: 'read', input: '{}' }] } };
    server.reply(call, call, { answer: { text: 'Done.' } });
    const first = await model.answer(requestOf([user('Go')]), silent);
    const sofar = [user('Go'), said(first.parts), results(first.parts)];
    const second = await model.answer(requestOf(sofar), silent);
    expect(second.parts).toMatchObject([{ callId: 'call_1_2' }]);
    await model.answer(requestOf([...sofar, said(second.parts), results(second.parts)]), silent);
  });

  test("[MODEL2] foreign call ids, files and later system messages are converted to the provider's form", async () => {
    const calls = said([{ type: 'tool-call', callId: 'foreign:1/ä', tool: 'read', input: {} }]);
    const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    server.reply({ answer: { text: 'A pixel.' } });
    const { parts } = await model.answer(
      requestOf([
        user('Go'),
        calls,
        results(calls.content as AssistantPart[]),
        { id: newId('msg'), role: 'system', content: [{ type: 'text', text: 'A note.' }] },
        { id: newId('msg'), role: 'user', content: [{ type: 'file', mediaType: 'image/png', data: pixel }] },
      ]),
      silent,
    );
    expect(parts).toMatchObject([{ text: 'A pixel.' }]);
    expect(JSON.stringify(server.requests[0])).toContain(pixel);
  });

  test('[MODEL1] structured output is requested by its schema', async () => {
    server.reply({ answer: { text: '{"ok":true}' } });
    const output = {
      type: 'object',
      properties: { ok: { type: 'boolean' } },
      required: ['ok'],
      additionalProperties: false,
    };
    const { parts } = await model.answer(requestOf([user('Go')], { output, tools: [] }), silent);
    expect(parts).toMatchObject([{ type: 'text', text: '{"ok":true}' }]);
    expect(JSON.stringify(server.requests[0])).toContain('"ok":{"type":"boolean"}');
  });

  test('[MODEL5, MODEL13] a rate limit says how long to wait, in seconds, milliseconds or as a date', async () => {
    const limit = (headers: Record<string, string>) => ({ status: { status: 429, message: 'Slow down', headers } });
    server.reply(limit({ 'retry-after': '7' }), limit({ 'retry-after-ms': '250', 'retry-after': '9' }), limit({}));
    expect(await failing()).toMatchObject({ failure: 'rate-limit', retryAfterMs: 7000 });
    expect(await failing()).toMatchObject({ failure: 'rate-limit', retryAfterMs: 250 });
    expect(await failing()).toMatchObject({ failure: 'rate-limit', retryAfterMs: undefined });
    server.reply(limit({ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }));
    const { retryAfterMs } = await failing();
    expect(retryAfterMs).toBeGreaterThan(50_000);
    expect(retryAfterMs).toBeLessThanOrEqual(60_000);
    expect(server.requests).toHaveLength(4);
  });

  test('[MODEL5, MODEL13] an HTTP status maps to the kind of failure, and no failure is retried', async () => {
    const kinds = [
      [500, 'unavailable'],
      [503, 'unavailable'],
      [529, 'unavailable'],
      [408, 'timeout'],
      [400, 'refused'],
      [402, 'unusable'],
      [403, 'unusable'],
      [404, 'unusable'],
      [413, 'overflow'],
    ] as const;
    for (const [status, kind] of kinds) {
      server.reply({ status: { status, message: 'as the provider says' } });
      const failure = await failing();
      expect([status, failure.failure]).toEqual([status, kind]);
      expect(failure.message).toContain('as the provider says');
      expect(failure.message).toContain(name);
    }
    expect(server.requests).toHaveLength(kinds.length);
  });

  test('[MODEL5] a conversation that is too long is reported as an overflow', async () => {
    server.reply({ overflow: true });
    expect(await failing()).toMatchObject({ failure: 'overflow' });
  });

  test('[MODEL5, MODEL13, FALL11] a wrong key is rejected, and the message names where it came from', async () => {
    model = await open({ [keyName]: 'a-wrong-key' });
    const failure = await failing();
    expect(failure.failure).toBe('unusable');
    expect(failure.message).toMatch(new RegExp(`check the key, which came from the environment variable ${keyName}$`));
    const provider = name.split('/')[0]!;
    const byOption = (env: Record<string, string>) =>
      resolveModels({
        env: { [urlName]: server.url, ...env },
        providers: { [provider]: { apiKey: 'another-wrong-key' } },
      })(name);
    const option = `which came from the option models.providers.${provider}.apiKey`;
    model = await byOption({});
    expect((await failing()).message).toMatch(new RegExp(`${option}$`));
    model = await byOption({ [keyName]: testKey });
    const { message } = await failing();
    expect(message).toContain(`${option} (it overrides ${keyName})`);
    expect(message).not.toMatch(/wrong-key|test-key/);
  });

  test('[MODEL5] a closed port is reported as unavailable', async () => {
    const closed = createServer();
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
    const { port } = closed.address() as AddressInfo;
    await new Promise((resolve) => closed.close(resolve));
    model = await open({ [urlName]: `http://127.0.0.1:${port}/v1` });
    expect(await failing()).toMatchObject({ failure: 'unavailable' });
    model = await open({ [urlName]: 'http://no-such-host.invalid/v1' });
    expect(await failing()).toMatchObject({ failure: 'unavailable' });
  });

  const broken: readonly (readonly [StreamFault, string])[] = [
    ['disconnect', 'is cut'],
    ['unfinished', 'ends without its end'],
    ['malformed', 'holds a frame that is no JSON'],
    ['empty', 'is empty'],
  ];
  test.each(broken)('[MODEL6] %s: a stream that %s is broken', async (fault) => {
    server.reply({ answer: asked, fault });
    expect(await failing()).toMatchObject({ failure: 'broken-stream' });
  });

  test('[MODEL6] an error in the middle of a stream is reported as the failure that it names', async () => {
    server.reply({ answer: asked, fault: 'error-frame' });
    expect(await failing()).toMatchObject({ failure: 'unavailable' });
  });

  test('[MODEL7] a stream that stalls is abandoned, and its connection closed', async () => {
    model = await open({}, 300);
    server.reply({ answer: asked, fault: 'stall' });
    expect(await failing()).toMatchObject({ failure: 'timeout' });
    await server.hungUp;
  });

  test('[MODEL7] an aborted signal ends the stream with the reason of the abort, and the connection is closed', async () => {
    server.reply({ answer: asked, fault: 'stall' });
    const cancel = new AbortController();
    const reason = new Error('cancelled by a member');
    const request = requestOf([user('Go')], { signal: cancel.signal });
    const asking = model.answer(request, () => cancel.abort(reason));
    await expect(asking).rejects.toBe(reason);
    await server.hungUp;
    await expect(model.answer(request, silent)).rejects.toBe(reason);
    expect(server.requests).toHaveLength(1);
  });

  test('[MODEL2] the fake provider rejects what the real one rejects', async () => {
    const call = said([{ type: 'tool-call', callId: 'call_x', tool: 'read', input: {} }]);
    const orphans: (readonly Message[])[] = [
      [user('Go'), call],
      [user('Go'), call, user('And?')],
      [user('Go'), results(call.content as AssistantPart[])],
    ];
    for (const messages of orphans) expect(await failing(requestOf(messages))).toMatchObject({ failure: 'refused' });
    const unknown = [user('Go'), call, results(call.content as AssistantPart[])];
    expect(await failing(requestOf(unknown, { tools: [offer('list')] }))).toMatchObject({ failure: 'refused' });
  });
});

test('[MODEL2] OpenAI requests ask OpenAI not to store them, and reasoning is returned encrypted', async () => {
  const server = await startProvider(responsesApi);
  const model = await resolveModels({ env: { OPENAI_API_KEY: testKey, OPENAI_BASE_URL: server.url } })('openai/gpt-5');
  server.reply({ answer: asked });
  await model.answer(requestOf([user('Go')]), silent);
  const [body]: Body[] = server.requests as Body[];
  expect(body).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] });
  await server.close();
});

test('[MODEL1] Anthropic is asked to cache the repeated prefix', async () => {
  const server = await startProvider(messagesApi);
  const env = { ANTHROPIC_API_KEY: testKey, ANTHROPIC_BASE_URL: server.url.replace('/v1', '') };
  const model = await resolveModels({ env })('anthropic/claude-sonnet-4-5');
  server.reply({ answer: { text: 'Hi.' } });
  const { usage } = await model.answer(requestOf([user('Go')]), silent);
  expect(usage.usd).toBeUndefined();
  expect(server.requests[0]).toMatchObject({ cache_control: { type: 'ephemeral' } });
  await server.close();
});

test('[MODEL8] OpenAI can be used through Chat Completions', async () => {
  const server = await startProvider(chatApi);
  const providers = { openai: { apiKey: testKey, baseUrl: server.url, api: 'chat' } } as const;
  const model = await resolveModels({ providers, env: {} })('openai/gpt-4.1');
  server.reply({ answer: { text: 'Hi.', calls: twoCalls } });
  const { parts, usage } = await model.answer(requestOf([user('Go')]), silent);
  expect(parts).toHaveLength(3);
  expect(usage.inputTokens).toBe(100);
  await server.close();
});
