import { afterEach, expect, test } from 'vitest';
import type { Model } from '../../src/core/ports/model.ts';
import { defineAgent, openRuntime } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/index.ts';
import { chatApi } from '../support/providers/chat-api.ts';
import { messagesApi } from '../support/providers/messages-api.ts';
import type { ScriptedAnswer, StreamFault } from '../support/providers/provider-api.ts';
import { startProvider, testKey } from '../support/providers/provider-server.ts';
import { responsesApi } from '../support/providers/responses-api.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const apis = {
  'anthropic/claude-sonnet-4-5': ['ANTHROPIC', messagesApi],
  'openai/gpt-5': ['OPENAI', responsesApi],
  'local/qwen3': ['PERDURE_PROVIDER_LOCAL', chatApi],
} as const;

const word = 'endless'.repeat(50);
const text = `${word} `.repeat(20);
const answers: Readonly<Record<string, readonly [ScriptedAnswer, StreamFault]>> = {
  text: [{ text }, 'endless'],
  reasoning: [{ thinking: text }, 'endless'],
  'inputs of a call': [{ calls: [{ id: 'call_a', tool: 'read', input: JSON.stringify({ path: text }) }] }, 'endless'],
  'a line': [{ text: 'Hello there.' }, 'endless-line'],
};

const open = async (model: keyof typeof apis | Model, policies = {}) => {
  const [prefix, api] = typeof model === 'string' ? apis[model] : apis['local/qwen3'];
  const server = await startProvider(api);
  undo.push(() => server.close());
  const agent = defineAgent({ name: 'looping', model, settings: { maxOutputTokens: 100 }, policies });
  const runtime = await openRuntime({
    store: openMemoryStore(),
    agents: [agent],
    models: { env: { [`${prefix}_API_KEY`]: testKey, [`${prefix}_BASE_URL`]: server.url } },
  });
  undo.push(() => runtime.close());
  return { server, session: await runtime.sessions.open({ agent }) };
};

const cases = Object.keys(apis).flatMap((model) => Object.keys(answers).map((what) => [model, what] as const));

test.each(cases)('[MODEL16] %s that streams %s without end is ended', async (model, what) => {
  const { server, session } = await open(model as keyof typeof apis);
  const [answer, fault] = answers[what]!;
  server.reply({ answer, fault });
  const result = await (await session.send('Go')).result();
  expect(result).toMatchObject({ status: 'failed', error: { code: 'MODEL_ENDLESS' } });
  await server.hungUp;
  // The text, its frames, and what sockets and parsers have buffered; a line may hold a payload of the largest size.
  expect(server.sentBytes).toBeLessThan(fault === 'endless-line' ? 32e6 : 8e6);
  expect(server.requests).toHaveLength(1);
});

test('[MODEL16] policies.maxAnswerBytes bounds an answer, also of a model that ignores its signal', async () => {
  let pieces = 0;
  const model: Model = {
    name: 'own/looping',
    contextTokens: 100_000,
    price: null,
    answer: async (_, onDelta) => {
      for (;;) {
        pieces++;
        onDelta({ kind: 'text', text: 'x'.repeat(1000) });
      }
    },
  };
  const { session } = await open(model, { maxAnswerBytes: 10_000 });
  expect(await (await session.send('Go')).result()).toMatchObject({
    error: { code: 'MODEL_ENDLESS', message: expect.stringContaining('10000 bytes (policies.maxAnswerBytes)') },
  });
  expect(pieces).toBe(11);
  expect(() => defineAgent({ name: 'a', policies: { maxAnswerBytes: 0 } })).toThrow('policies.maxAnswerBytes');
});
