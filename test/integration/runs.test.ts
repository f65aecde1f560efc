import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { ModelDelta, ModelRequest } from '../../src/core/ports/model.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import {
  type AgentDefinition,
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Runtime,
  type RuntimeOptions,
  type Script,
  type SessionEvent,
} from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { newWorkspace } from '../../src/testing/contract/contract-setup.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

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

const strict = defineTool({
  name: 'strict',
  input: z.object({}),
  approval: { notRequester: true, expiresInMs: 300 },
  execute: () => 'done',
});
const crash = defineTool({
  name: 'crash',
  input: z.object({}),
  effects: 'none',
  retry: { times: 2, backoffMs: 1 },
  execute: (_, { attempt }) => {
    if (attempt < 3) throw new Error(`attempt ${attempt} failed`);
    return 'third time lucky';
  },
});
const stuck = defineTool({
  name: 'stuck',
  input: z.object({}),
  timeoutMs: 30,
  execute: () => new Promise(() => undefined),
});
const large = defineTool({ name: 'large', input: z.object({}), effects: 'none', execute: () => 'x'.repeat(200_000) });

const types = async (events: AsyncIterable<SessionEvent>): Promise<readonly string[]> => {
  const all: string[] = [];
  for await (const { type } of events) all.push(type);
  return all;
};

describe.each(storeKinds)('runs on %s', (kind) => {
  let place: StorePlace;
  let store: RuntimeStore;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    store = await openStoreAt(place.address);
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });

  /**
   * Starts a runtime in a new workspace on the shared store. `open` opens another runtime, as another process would.
   */
  const start = async (
    steps: Script['steps'],
    more: { readonly work?: boolean; readonly agent?: Partial<AgentDefinition> } = {},
  ) => {
    const workspace = newWorkspace();
    const agent = defineAgent({
      name: 'tester',
      version: 1,
      model: defineScript({ name: 'test', steps }),
      instructions: 'You test.',
      tools: [add, wipe, slow, ask, strict, crash, stuck, large],
      ...more.agent,
    });
    const openOn = async (on: RuntimeOptions['store']): Promise<Runtime> => {
      const runtime = await openRuntime({ store: on, agents: [agent], worker: false, timing: { modelBackoffMs: 1 } });
      onTestFinished(() => runtime.close());
      return runtime;
    };
    const local = { workspace, member: 'local', role: 'admin' } as const;
    const whole = await openOn(overrideStore(store, { close: async () => undefined }));
    const runtime = whole.as(local);
    if (more.work !== false) await runtime.worker().start();
    return {
      runtime,
      as: (member: string, other: string = workspace) => whole.as({ workspace: other, member }),
      open: async () => (await openOn(place.address)).as(local),
      session: await runtime.sessions.open({ agent }),
    };
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
    const transcript = (await session.transcript()).entries;
    expect(transcript.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
    expect((await session.state()).toolsUsed).toEqual({ add: { calls: 1, ok: 1, failed: 0 } });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[RUN2] inputs during a run wait in order', async () => {
    const { session, runtime } = await start([{ text: 'one' }, { text: 'two' }, { text: 'three' }], { work: false });
    const runs = [await session.send('1'), await session.send('2'), await session.send('3')];
    await runtime.worker().start();
    const results = await Promise.all(runs.map((run) => run.result()));
    expect(results).toMatchObject([{ output: 'one' }, { output: 'two' }, { output: 'three' }]);
    expect((await session.transcript()).entries.map(({ turn }) => turn)).toEqual([1, 1, 2, 2, 3, 3]);
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
    expect((await run.result()).status).toBe('succeeded');
    expect((await session.toolCalls({ tool: 'wipe' })).calls[0]).toMatchObject({ status: 'ok' });
  });

  test('[APPR2] the model receives a denial with its reason', async () => {
    const { session } = await start([
      { calls: [{ tool: 'wipe', input: { what: 'disk' } }] },
      { when: { last: { outcome: 'denied', matches: 'not today' } }, text: 'I leave it.' },
    ]);
    const run = await session.send('Wipe the disk');
    await run.result();
    const requested = (await Array.fromAsync(session.events())).find(({ type }) => type === 'approval.requested');
    await session.deny((requested as SessionEvent<'approval.requested'>).payload.approval, { comment: 'not today' });
    expect(await run.result()).toMatchObject({ output: 'I leave it.' });
  });

  test('[RUN4] a cancel stops the run immediately, and every call has a result', async () => {
    const { session } = await start([{ calls: [{ tool: 'slow', input: {} }] }, { text: 'never' }]);
    const run = await session.send('Go');
    await expect.poll(async () => (await session.toolCalls()).calls.length).toBe(1);
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
    expect(await run.result()).toMatchObject({ output: 'Port 8080 it is.' });
  });

  test('[RUN6, RUN26] another worker takes over when a worker is gone, and an interrupted `once` call is reported as unknown', async () => {
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
    await expect.poll(async () => (await session.toolCalls()).calls.length).toBe(1);
    await first.stop();
    await (await open()).worker().start();
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'I do not know what became of it.' });
    expect((await session.toolCalls()).calls[0]).toMatchObject({ status: 'interrupted' });
  });

  test('[RUN7] a pause stops at the next safe point, and the same run continues after resume', async () => {
    const { session } = await start([{ calls: [{ tool: 'ask', input: { question: 'x' } }] }, { text: 'ok' }]);
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting' });
    await session.pause();
    const asked = (await Array.fromAsync(session.events())).find(({ type }) => type === 'question.asked');
    await session.answer((asked as SessionEvent<'question.asked'>).payload.callId, 'y');
    expect(await run.result()).toMatchObject({ status: 'paused' });
    await session.resume();
    expect((await run.result()).status).toBe('succeeded');
  });

  test('[BUDGET2] at its limit a run waits, and continues when the limit is raised', async () => {
    const { session } = await start([{ text: 'one' }]);
    await session.limit({ tokens: 10 });
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
    await session.limit({ tokens: 100_000 });
    expect((await run.result()).status).toBe('succeeded');
  });

  test('[RUN8] a handoff fences the worker; the run continues when the session is handed back', async () => {
    const { session } = await start([{ calls: [{ tool: 'slow', input: {} }] }, { text: 'ok' }]);
    const run = await session.send('Go');
    await expect.poll(async () => (await session.toolCalls()).calls.length).toBe(1);
    await session.handoff({ to: 'human', reason: 'let me' });
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'human' });
    await session.commit((draft) => {
      draft.facts.port = 80;
    });
    await session.handoff({ to: 'agent' });
    expect((await run.result()).status).toBe('succeeded');
  });

  test('[RUN2] a steering input joins the active run at its next step', async () => {
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
    expect(await run.result()).toMatchObject({ output: 'Faster, then.' });
    expect(await steered.result()).toMatchObject({ output: 'Faster, then.' });
    expect((await session.transcript()).entries.at(-1)!.turn).toBe(1);
  });

  test('[RUN2] an interrupt ends the active run; a rejected input leaves no trace', async () => {
    const { session } = await start([{ calls: [{ tool: 'slow', input: {} }] }, { text: 'second' }]);
    const run = await session.send('Go');
    await expect.poll(async () => (await session.toolCalls()).calls.length).toBe(1);
    const before = await session.summary();
    await expect(session.send('no', { policy: 'reject' })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
    expect((await session.summary()).seq).toBe(before.seq);
    const next = await session.send('Stop that', { policy: 'interrupt' });
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    expect(await next.result()).toMatchObject({ status: 'succeeded', output: 'second' });
  });

  test('[RUN9] a failed call is a typed result that the model can act on', async () => {
    const { session } = await start([
      {
        calls: [
          { tool: 'nothing', input: {} },
          { tool: 'add', input: { a: 'one' } },
          { tool: 'stuck', input: {} },
          { tool: 'crash', input: {} },
        ],
      },
      { text: 'ok' },
    ]);
    await (await session.send('Go')).result();
    const results = (await session.transcript()).entries.flatMap(({ message }) =>
      message.role === 'tool' ? message.content : [],
    );
    expect(Object.fromEntries(results.map(({ tool, outcome }) => [tool, outcome]))).toEqual({
      nothing: 'unknown_tool',
      add: 'invalid_input',
      stuck: 'timeout',
      crash: 'ok',
    });
    expect(results.find(({ tool }) => tool === 'nothing')!.output).toContain('available: add');
    const retried = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'tool.retried');
    expect(retried.map(({ payload }) => payload)).toMatchObject([
      { attempt: 2, reason: 'attempt 1 failed' },
      { attempt: 3, reason: 'attempt 2 failed' },
    ]);
  });

  test('[APPR3, APPR2] the requester may not answer, and an approval without a timely answer is denied', async () => {
    const { session, as } = await start([
      { calls: [{ tool: 'strict', input: {} }] },
      { when: { last: { outcome: 'denied', matches: 'expired' } }, text: 'Nobody came.' },
    ]);
    const run = await session.send('Go');
    await run.result();
    const requested = (await Array.fromAsync(session.events())).find(({ type }) => type === 'approval.requested');
    const { approval } = (requested as SessionEvent<'approval.requested'>).payload;
    await expect(session.approve(approval)).rejects.toMatchObject({ code: 'APPROVAL_FORBIDDEN' });
    await expect(session.approve('apr_nonsense')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect(await run.waitForEnd()).toMatchObject({ output: 'Nobody came.' });
    const other = await as('ann').sessions.get(session.id);
    await expect(other.approve(approval)).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
    expect((await Array.fromAsync(session.events())).some(({ type }) => type === 'approval.settled')).toBe(true);
  });

  test('[RUN12] structured output fits its schema after the model received the validation errors', async () => {
    const output = z.object({ port: z.number() });
    const { session } = await start([{ text: 'Port 80.' }, { text: '{"port":"80"}' }, { text: '{"port":80}' }], {
      agent: { output },
    });
    expect(await (await session.send('Which port?')).result()).toMatchObject({
      status: 'succeeded',
      output: { port: 80 },
    });
    const bad = await start([{ text: 'a' }, { text: 'b' }, { text: 'c' }], { agent: { output } });
    expect(await (await bad.session.send('Which port?')).result()).toMatchObject({
      status: 'failed',
      error: { code: 'OUTPUT_INVALID' },
    });
  });

  test('[RUN13] a large output is kept whole, and the model gets a part and the name of the call', async () => {
    const { session } = await start([{ calls: [{ tool: 'large', input: {} }] }, { text: 'ok' }]);
    await (await session.send('Go')).result();
    const { message, cut } = (await session.transcript()).entries.find((entry) => entry.message.role === 'tool')!;
    const [, name] = /recall \\"([^"]*)\\" for all of it/.exec(JSON.stringify(message))!;
    expect(JSON.stringify(message).length).toBeLessThan(25_000);
    expect({ cut, name }).toEqual({ cut: 'large@turn:1', name: 'large in turn 1' });
    expect(await session.recall(name!)).toMatchObject([{ tool: 'large', output: 'x'.repeat(200_000) }]);
  });

  test('[RUN14] retrying a turn adds another attempt', async () => {
    const { session } = await start([{ text: 'left' }, { text: 'right' }]);
    await (await session.send('Which way?')).result();
    const { run } = await session.retry({ turn: 1 });
    expect((await run!.result()).status).toBe('succeeded');
    expect((await session.transcript()).entries.map(({ turn }) => turn)).toEqual([2, 2]);
    expect(await session.diff({ turn: 1, attempt: 1 }, { turn: 1, attempt: 2 })).toMatchObject({ patch: [] });
  });

  test('[RUN15] a session cannot be opened with an agent whose model is not configured', async () => {
    const { runtime } = await start([{ text: 'x' }]);
    const agent = defineAgent({ name: 'other', version: 1, model: 'nowhere/none' });
    await expect(runtime.sessions.open({ agent })).rejects.toMatchObject({ code: 'HOSTED_MODEL_UNAVAILABLE' });
  });

  test('[CTX4, RUN1] within a turn each request extends the previous one, byte for byte', async () => {
    const requests: { system: string; messages: readonly unknown[] }[] = [];
    const script = scriptedModel(
      defineScript({
        name: 'spy',
        steps: [
          {
            calls: [
              { tool: 'add', input: { a: 1, b: 2 } },
              { tool: 'add', input: { a: 3, b: 4 } },
            ],
          },
          { text: 'And more:', calls: [{ tool: 'add', input: { a: 5, b: 6 } }] },
          { text: 'Done.' },
        ],
      }),
    );
    const model = {
      ...script,
      answer: (request: ModelRequest, onDelta: (delta: ModelDelta) => void) => {
        requests.push({ system: request.instructions, messages: request.messages });
        return script.answer(request, onDelta);
      },
    };
    const { session } = await start([{ text: 'unused' }], { agent: { model } });
    await (await session.send('Go')).result();
    expect(requests).toHaveLength(3);
    for (const [index, { system, messages }] of requests.slice(1).entries()) {
      const before = requests[index]!;
      expect(system).toBe(before.system);
      expect(JSON.stringify(messages.slice(0, before.messages.length))).toBe(JSON.stringify(before.messages));
    }
  });

  test('[RUN7] an immediate pause interrupts the call in flight, and the run continues after resume', async () => {
    const { session } = await start([
      { calls: [{ tool: 'slow', input: {} }] },
      { when: { last: { outcome: 'interrupted' } }, text: 'It was cut off.' },
    ]);
    const run = await session.send('Go');
    await expect.poll(async () => (await session.toolCalls()).calls.length).toBe(1);
    await session.pause({ withinMs: 50 });
    expect(await run.result()).toMatchObject({ status: 'paused' });
    await session.resume();
    expect(await run.result()).toMatchObject({ output: 'It was cut off.' });
  });

  test('[APPR1] pending approvals are listed and answered across the workspace', async () => {
    const { session, runtime, as } = await start([
      { calls: [{ tool: 'wipe', input: { what: 'disk' } }] },
      { text: 'Done.' },
    ]);
    const run = await session.send('Go');
    await run.result();
    const [pending, ...others] = await runtime.approvals.list();
    expect(others).toEqual([]);
    expect(pending).toMatchObject({ session: session.id, tool: 'wipe', requestedBy: 'member:local' });
    expect(await as('eve', 'other').approvals.list()).toEqual([]);
    await expect(as('eve', 'other').approvals.approve(pending!.id)).rejects.toMatchObject({
      code: 'APPROVAL_NOT_FOUND',
    });
    await runtime.approvals.approve(pending!.id);
    expect((await run.result()).status).toBe('succeeded');
    expect(await runtime.approvals.list()).toEqual([]);
    await runtime.approvals.approve(pending!.id);
    await expect(runtime.approvals.deny(pending!.id)).rejects.toMatchObject({ code: 'APPROVAL_SETTLED' });
    const unknown = `${pending!.id.slice(0, -6)}zzzzzz`;
    await expect(runtime.approvals.approve(unknown)).rejects.toMatchObject({ code: 'APPROVAL_NOT_FOUND' });
  });

  test('[REPLAY1, REPLAY3] a turn replayed by the same agent has no departure and runs no tool', async () => {
    let runs = 0;
    const tally = defineTool({ name: 'tally', input: z.object({}), execute: () => `run ${++runs}` });
    const { session } = await start(
      [
        {
          calls: [
            { tool: 'tally', input: {} },
            { tool: 'nothing', input: {} },
          ],
        },
        { text: 'Done.' },
      ],
      { agent: { tools: [tally] } },
    );
    await (await session.send('Go')).result();
    const before = await session.summary();
    const replay = await session.replay({ turn: 1 });
    expect(replay.departures).toEqual([]);
    expect(runs).toBe(1);
    expect(await session.summary()).toEqual(before);
    await expect(session.replay({ turn: 7 })).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
  });

  test('[REPLAY2] a replay with another model reports where it departs', async () => {
    const { session } = await start([{ calls: [{ tool: 'add', input: { a: 1, b: 2 } }] }, { text: 'It is 3.' }]);
    await (await session.send('Go')).result();
    const other = scriptedModel(
      defineScript({
        name: 'other',
        steps: [
          {
            calls: [
              { tool: 'add', input: { a: 1, b: 2 } },
              { tool: 'wipe', input: { what: 'disk' } },
            ],
          },
          { text: 'Three.' },
        ],
      }),
    );
    const { departures, session: fork } = await session.replay({ turn: 1, model: other });
    expect(departures.map(({ what }) => what)).toContain('call');
    expect(departures.at(-1)).toMatchObject({ what: 'end', replayed: { output: 'Three.' } });
    expect(fork).not.toBe(session.id);
    expect((await session.toolCalls({ tool: 'wipe' })).calls).toEqual([]);
  });
});
