import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool, openRuntime, type Session } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { chatApi } from '../support/providers/chat-api.ts';
import { messagesApi } from '../support/providers/messages-api.ts';
import type { Reply, StreamFault } from '../support/providers/provider-api.ts';
import { type ProviderServer, startProvider, testKey } from '../support/providers/provider-server.ts';
import { responsesApi } from '../support/providers/responses-api.ts';

const providers = {
  'Anthropic Messages': { api: messagesApi, model: 'anthropic/claude-sonnet-4-5', name: 'anthropic' },
  'OpenAI Responses': { api: responsesApi, model: 'openai/gpt-5', name: 'openai' },
  'Chat Completions': { api: chatApi, model: 'local/qwen3', name: 'local' },
} as const;

const read = defineTool({
  name: 'read',
  description: 'Reads a file.',
  input: z.object({ path: z.string() }),
  effects: 'none',
  execute: ({ path }) => `content of ${path}`,
});

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const looks: Reply = {
  answer: {
    thinking: 'I should look.',
    text: 'Looking.',
    calls: [
      { id: 'call_a', tool: 'read', input: '{"path":"a.txt"}' },
      { id: 'call_b', tool: 'read', input: '{"path":"b.txt"}' },
    ],
  },
};
/** A reply that breaks off has its own ids, as a real one would. */
const broken: Reply = {
  answer: {
    thinking: 'I should begin.',
    text: 'Loo',
    calls: [{ id: 'call_x', tool: 'read', input: '{"path":"x.txt"}' }],
  },
};
const done: Reply = { answer: { text: 'Done.' } };

const failures = async (session: Session): Promise<readonly string[]> =>
  (await Array.fromAsync(session.events())).flatMap((event) =>
    event.type === 'model.failed' ? [event.payload.failure] : [],
  );

const maxModelWaitMs = 20;

describe.each(Object.entries(providers))('runs with %s', (_, { api, model, name }) => {
  const start = (...replies: Reply[]) => startWith(20_000, ...replies);
  const startWith = async (
    stallMs: number,
    ...replies: Reply[]
  ): Promise<{ server: ProviderServer; session: Session }> => {
    const server = await startProvider(api);
    undo.push(() => server.close());
    server.reply(...replies);
    const agent = defineAgent({ name: 'reader', version: 1, model, tools: [read], policies: { maxModelWaitMs } });
    const runtime = await openRuntime({
      store: openMemoryStore(),
      agents: [agent],
      worker: false,
      timing: { modelBackoffMs: 1 },
      models: { providers: { [name]: { baseUrl: server.url, apiKey: testKey } }, stallMs },
    });
    undo.push(() => runtime.close());
    await runtime.worker().start();
    return { server, session: await runtime.sessions.open({ agent }) };
  };

  test('[RUN1] a provider accepts every request of a turn with reasoning and two calls', async () => {
    const { server, session } = await start(looks, done, done);
    expect(await (await session.send('Read both')).result()).toMatchObject({
      status: 'succeeded',
      output: 'Done.',
      usage: { inputTokens: 200, outputTokens: 60 },
    });
    expect(await (await session.send('And again')).result()).toMatchObject({ status: 'succeeded' });
    expect(server.requests).toHaveLength(3);
  });

  test('[IN4, IN9] images, PDFs and text reach the provider, unsupported files are named, and the session continues', async () => {
    const { server, session } = await start(done, done);
    const file = (name: string, mediaType: string, bytes: string | Buffer) =>
      ({ type: 'file', name, mediaType, data: Buffer.from(bytes).toString('base64') }) as const;
    const photo = file(
      'photo.png',
      'image/png',
      Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), randomBytes(500_000)]),
    );
    const paper = file('paper.pdf', 'application/pdf', Buffer.concat([Buffer.from('%PDF-1.7\n'), randomBytes(30_000)]));
    const run = await session.send([
      { type: 'text', text: 'What is in these?' },
      photo,
      paper,
      file('table.csv', 'text/csv', 'größe;1\n'),
      file('data.json', 'application/json', '{"port":8080}'),
      file('all.zip', 'application/zip', 'PK\x03\x04'),
      file('scan.tiff', 'image/tiff', 'II*'),
    ]);
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    const sent = JSON.stringify(server.requests[0]);
    expect(sent).toContain(photo.data);
    expect(sent).toContain(paper.data);
    expect(sent).toContain(JSON.stringify('<file name="table.csv">\ngröße;1\n\n</file>').slice(1, -1));
    expect(sent).toContain(JSON.stringify('{"port":8080}').slice(1, -1));
    expect(sent).toMatch(/all\.zip.{1,40}application\/zip.{1,40}cannot be shown/);
    expect(sent).toMatch(/scan\.tiff.{1,40}image\/tiff.{1,40}cannot be shown/);
    expect(await (await session.send('And now?')).result()).toMatchObject({ status: 'succeeded' });
    expect(JSON.stringify(server.requests[1])).toContain(photo.data);
  });

  test('[RUN11] a transient failure is retried and recorded in the log; a broken stream leaves no message', async () => {
    const faults: readonly StreamFault[] = ['disconnect', 'malformed', 'stall'];
    for (const fault of faults) {
      const { session } = await startWith(fault === 'stall' ? 1000 : 20_000, { ...broken, fault }, looks, done);
      expect(await (await session.send('Go')).result(), fault).toMatchObject({ status: 'succeeded', output: 'Done.' });
      expect(await failures(session), fault).toHaveLength(1);
      const answers = (await session.transcript()).entries.filter(({ message }) => message.role === 'assistant');
      expect(answers.filter(({ brokenOff }) => !brokenOff)).toHaveLength(2);
    }
    const { session } = await start(
      { status: { status: 429, message: 'slow down', headers: { 'retry-after': '0' } } },
      { status: { status: 503, message: 'busy' } },
      looks,
      done,
    );
    expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
    expect(await failures(session)).toEqual(['rate-limit', 'unavailable']);
  });

  test("[RUN11] a permanent failure ends the run with the provider's message", async () => {
    const { session } = await start({ status: { status: 401, message: 'invalid key' } });
    expect(await (await session.send('Go')).result()).toMatchObject({
      status: 'failed',
      error: { code: 'MODEL_REFUSED', message: expect.stringContaining('invalid key') },
    });
  });

  test('[RUN11, FALL6] a transient failure ends the run once the run has waited for the stated time', async () => {
    const busy = Array.from({ length: 20 }, (): Reply => ({ status: { status: 503, message: 'busy' } }));
    const { session } = await startWith(20_000, ...busy);
    expect(await (await session.send('Go')).result()).toMatchObject({ error: { code: 'MODEL_UNAVAILABLE' } });
    const failed = (await Array.fromAsync(session.events())).flatMap((event) =>
      event.type === 'model.failed' ? [event.payload.retryInMs] : [],
    );
    expect(failed.at(-1)).toBeUndefined();
    expect(failed.slice(0, -1).reduce((sum: number, ms) => sum + ms!, 0)).toBe(maxModelWaitMs);
  });

  test('[RUN11] a context that is too long is compacted once, and the run continues', async () => {
    const { session } = await start(done, done, { overflow: true }, done, { overflow: true }, { overflow: true });
    for (const text of ['one', 'two']) await (await session.send(text)).result();
    expect(await (await session.send('three')).result()).toMatchObject({ status: 'succeeded' });
    const events = await Array.fromAsync(session.events());
    expect(events.filter(({ type }) => type === 'context.compacted')).toHaveLength(1);
    expect(await (await session.send('four')).result()).toMatchObject({ error: { code: 'MODEL_OVERFLOW' } });
  });
});
