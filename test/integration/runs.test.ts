import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Runtime,
  type Script,
  type SessionEvent,
} from '../../src/index.ts';
import { newStorePlace, storeKinds } from '../stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  effects: 'none',
  execute: ({ a, b }) => a + b,
});
const wipe = defineTool({
  name: 'wipe',
  description: 'Deletes everything.',
  input: z.object({ what: z.string() }),
  approval: true,
  execute: ({ what }) => `wiped ${what}`,
});
const slow = defineTool({
  name: 'slow',
  input: z.object({}),
  execute: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
});
const ask = defineTool({
  name: 'ask',
  input: z.object({ question: z.string() }),
  effects: 'none',
  question: ({ question }) => ({ text: question }),
  execute: () => undefined,
});

const types = async (events: AsyncIterable<SessionEvent>): Promise<readonly string[]> => {
  const all: string[] = [];
  for await (const { type } of events) all.push(type);
  return all;
};

describe.each(storeKinds)('runs on %s', (kind) => {
  const start = async (steps: Script['steps'], more: { readonly work?: boolean } = {}) => {
    const place = await newStorePlace(kind);
    undo.push(place.remove);
    const agent = defineAgent({
      name: 'tester',
      version: 1,
      model: 'scripted/test',
      instructions: 'You test.',
      tools: [add, wipe, slow, ask],
    });
    const models = { scripts: [defineScript({ name: 'test', steps })] };
    const open = async (): Promise<Runtime> => {
      const runtime = await openRuntime({
        store: place.address,
        agents: [agent],
        models,
        timing: { modelBackoffMs: 1 },
      });
      undo.push(() => runtime.close());
      return runtime;
    };
    const runtime = await open();
    if (more.work !== false) await runtime.worker().start();
    return { runtime, open, session: await runtime.sessions.open({ agent }) };
  };

  test('[RUN1] an input is answered by a run: the model calls a tool, gets its result and answers', async () => {
    const { session } = await start([
      { reasoning: 'I should add.', calls: [{ tool: 'add', input: { a: 2, b: 3 } }] },
      { text: 'It is 5.' },
    ]);
    const run = await session.send('What is 2 + 3?');
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'It is 5.' });
    expect(await types(run.events())).toEqual([
      'input.admitted',
      'run.started',
      'message.appended',
      'model.called',
      'model.completed',
      'message.appended',
      'tool.called',
      'tool.completed',
      'message.appended',
      'state.committed',
      'model.called',
      'model.completed',
      'message.appended',
      'run.ended',
    ]);
    const transcript = await session.transcript();
    expect(transcript.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect((await session.state()).toolsUsed).toEqual({ add: { calls: 1, ok: 1, failed: 0 } });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[RUN2] inputs during a run wait for their turn, in order', async () => {
    const { session, runtime } = await start([{ text: 'one' }, { text: 'two' }, { text: 'three' }], { work: false });
    const runs = [await session.send('1'), await session.send('2'), await session.send('3')];
    await runtime.worker().start();
    const results = await Promise.all(runs.map((run) => run.result()));
    expect(results.map(({ output }) => output)).toEqual(['one', 'two', 'three']);
    expect((await session.transcript()).map(({ turn }) => turn)).toEqual([1, 1, 2, 2, 3, 3]);
  });

  test('[RUN3] the same key admits an input once', async () => {
    const { session } = await start([{ text: 'one' }, { text: 'two' }]);
    const first = await session.send('1', { idempotencyKey: 'k' });
    const again = await session.send('1', { idempotencyKey: 'k' });
    expect(again.id).toBe(first.id);
    expect(await again.result()).toMatchObject({ output: 'one' });
    await expect(session.send('2', { idempotencyKey: 'k' })).rejects.toMatchObject({ code: 'KEY_REUSED' });
  });

  test('[APPR1] a call that needs approval waits without a worker, and runs when it is approved', async () => {
    const { session, open } = await start([{ calls: [{ tool: 'wipe', input: { what: 'disk' } }] }, { text: 'Done.' }]);
    const run = await session.send('Wipe the disk');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    const other = await (await open()).sessions.get(session.id);
    const requested = (await Array.fromAsync(session.events())).find(({ type }) => type === 'approval.requested');
    const { approval } = (requested as SessionEvent<'approval.requested'>).payload;
    await other.approve(approval);
    await other.approve(approval);
    await expect(other.deny(approval)).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' });
    await expect.poll(async () => (await run.result()).status).toBe('succeeded');
    expect((await session.toolCalls({ tool: 'wipe' }))[0]).toMatchObject({ status: 'ok' });
  });

  test('[APPR2] a denial is told to the model with its reason', async () => {
    const { session } = await start([
      { calls: [{ tool: 'wipe', input: { what: 'disk' } }] },
      { when: { last: { outcome: 'denied', matches: 'not today' } }, text: 'I leave it.' },
    ]);
    const run = await session.send('Wipe the disk');
    await run.result();
    const requested = (await Array.fromAsync(session.events())).find(({ type }) => type === 'approval.requested');
    await session.deny((requested as SessionEvent<'approval.requested'>).payload.approval, 'not today');
    await expect.poll(async () => (await run.result()).output).toBe('I leave it.');
  });

  test('[RUN4] a cancel stops at once and leaves every call with a result', async () => {
    const { session } = await start([{ calls: [{ tool: 'slow', input: {} }] }, { text: 'never' }]);
    const run = await session.send('Go');
    await expect.poll(async () => (await session.toolCalls()).length).toBe(1);
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    const { messages } = await session.context();
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: [{ outcome: 'cancelled' }] });
    expect(await (await session.send('Again')).result()).toMatchObject({ status: 'succeeded', output: 'never' });
  });

  test('[RUN5] a question waits for its answer', async () => {
    const { session } = await start([
      { calls: [{ tool: 'ask', input: { question: 'Which port?' } }] },
      { when: { last: { matches: '8080' } }, text: 'Port 8080 it is.' },
    ]);
    const run = await session.send('Set it up');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'question' });
    const asked = (await Array.fromAsync(session.events())).find(({ type }) => type === 'question.asked');
    await session.answer((asked as SessionEvent<'question.asked'>).payload.callId, '8080');
    await expect.poll(async () => (await run.result()).output).toBe('Port 8080 it is.');
  });

  test('[RUN6] a worker that is gone is replaced: an interrupted call of once is told as unknown', async () => {
    const { session, runtime, open } = await start(
      [
        { calls: [{ tool: 'slow', input: {} }] },
        { when: { last: { outcome: 'interrupted' } }, text: 'I do not know what became of it.' },
      ],
      { work: false },
    );
    const first = runtime.worker();
    await first.start();
    const run = await session.send('Go');
    await expect.poll(async () => (await session.toolCalls()).length).toBe(1);
    await first.stop();
    await (await open()).worker().start();
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'I do not know what became of it.' });
    expect((await session.toolCalls())[0]).toMatchObject({ status: 'interrupted' });
  });

  test('[RUN7] a pause stops at the next safe point, and the same run goes on after resume', async () => {
    const { session } = await start([{ calls: [{ tool: 'ask', input: { question: 'x' } }] }, { text: 'ok' }]);
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting' });
    await session.pause();
    const asked = (await Array.fromAsync(session.events())).find(({ type }) => type === 'question.asked');
    await session.answer((asked as SessionEvent<'question.asked'>).payload.callId, 'y');
    expect(await run.result()).toMatchObject({ status: 'paused' });
    await session.resume();
    await expect.poll(async () => (await run.result()).status).toBe('succeeded');
  });

  test('[BUDGET1] at its limit a run waits, and goes on when it is extended', async () => {
    const { session } = await start([{ text: 'one' }]);
    await session.limit({ tokens: 10 });
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
    await session.limit({ tokens: 100_000 });
    await expect.poll(async () => (await run.result()).status).toBe('succeeded');
  });

  test('[RUN8] a handoff fences the worker; the run goes on when the session is given back', async () => {
    const { session } = await start([{ calls: [{ tool: 'slow', input: {} }] }, { text: 'ok' }]);
    const run = await session.send('Go');
    await expect.poll(async () => (await session.toolCalls()).length).toBe(1);
    await session.handoff({ to: 'human', reason: 'let me' });
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'human' });
    await session.commit((draft) => {
      draft.facts.port = 80;
    });
    await session.handoff({ to: 'agent' });
    await expect.poll(async () => (await run.result()).status).toBe('succeeded');
  });

  test('[RUN9] what steers joins the run under way at its next step', async () => {
    const { session } = await start([
      { calls: [{ tool: 'ask', input: { question: 'x' } }] },
      { when: { userMatches: 'faster' }, text: 'Faster, then.' },
      { text: 'As before.' },
    ]);
    const run = await session.send('Go');
    await run.result();
    const steered = await session.send('faster', { policy: 'steer' });
    const asked = (await Array.fromAsync(session.events())).find(({ type }) => type === 'question.asked');
    await session.answer((asked as SessionEvent<'question.asked'>).payload.callId, 'y');
    await expect.poll(async () => (await run.result()).output).toBe('Faster, then.');
    expect(await steered.result()).toMatchObject({ output: 'Faster, then.' });
    expect((await session.transcript()).at(-1)!.turn).toBe(1);
  });
});
