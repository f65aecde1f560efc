import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { defineAgent, defineScript, defineTool, openRuntime } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { askTool } from '../../src/tools/index.ts';
import { type RunsSetup, startRuns } from '../support/runs/start-runs.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const guarded = defineTool({ name: 'guarded', input: z.object({}), approval: true, execute: () => 'done' });
/** Ends only when it is aborted or the test ends it. */
const stuckTool = (effects: 'none' | 'once') => {
  const begun = Promise.withResolvers<void>();
  const stuck = defineTool({
    name: 'guarded',
    input: z.object({}),
    effects,
    execute: (_, { signal }) => {
      begun.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  return { stuck, begun: begun.promise };
};
const script = defineScript({
  name: 'asks',
  everyTurn: true,
  steps: [{ calls: [{ tool: 'guarded', input: {} }] }, { text: 'Done.' }],
});

const start = async (): Promise<RunsSetup> => {
  const setup = await startRuns({ model: scriptedModel(script), tools: [guarded] });
  undo.push(() => setup.runtime.close());
  return setup;
};

const approveAll = async ({ runtime }: RunsSetup): Promise<void> => {
  for (const { id } of await runtime.approvals.list()) await runtime.approvals.approve(id);
};

test('[RUN5] a result that is requested after an approval is not the earlier `waiting` result', async () => {
  const setup = await start();
  const run = await setup.session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
  await approveAll(setup);
  expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
});

test('[RUN7] a waiting run is paused and, when resumed, waits again', async () => {
  const setup = await start();
  const { session } = setup;
  const run = await session.send('Go');
  await run.result();
  await session.pause();
  expect(await run.result()).toMatchObject({ status: 'paused' });
  await session.resume();
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
  await session.pause();
  await approveAll(setup);
  expect(await run.result()).toMatchObject({ status: 'paused' });
  await session.resume();
  expect(await run.result()).toMatchObject({ status: 'succeeded' });
  expect((await setup.types()).filter((type) => type === 'run.started')).toHaveLength(1);
});

test('[RUN7] when a worker dies, another completes the requested pause first and the interrupted call afterwards', async () => {
  const { stuck, begun } = stuckTool('none');
  const agent = defineAgent({ name: 'tester', version: 1, model: scriptedModel(script), tools: [stuck] });
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [agent], worker: false });
  undo.push(() => runtime.close());
  const session = await runtime.sessions.open({ agent });
  const first = runtime.worker();
  await first.start();
  const run = await session.send('Go');
  await begun;
  await session.pause();
  await first.stop();
  expect(await session.summary()).toMatchObject({ status: 'pausing' });
  await runtime.worker().start();
  expect(await run.result()).toMatchObject({ status: 'paused' });
  await session.resume();
  const types = async () => (await Array.fromAsync(session.events())).map(({ type }) => type);
  await expect.poll(types, { timeout: 10_000 }).toContain('tool.retried');
  expect((await types()).slice(-3)).toEqual(['session.resumed', 'run.resumed', 'tool.retried']);
});

test('[RUN7] the run of an input to a paused session is paused', async () => {
  const { session } = await start();
  await session.pause();
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'paused' });
});

test('[RUN8] the run of an input to a handed-off session waits for the person, and then for an approval as usual', async () => {
  const setup = await start();
  const { session } = setup;
  await session.handoff({ to: 'human' });
  const run = await session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'human' });
  await session.handoff({ to: 'agent' });
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
  await session.handoff({ to: 'human' });
  await session.handoff({ to: 'agent' });
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
});

test('[RUN4] a cancel during pausing leaves the session paused', async () => {
  const { stuck, begun } = stuckTool('once');
  const { session, runtime } = await startRuns({ model: scriptedModel(script), tools: [stuck] });
  undo.push(() => runtime.close());
  const run = await session.send('Go');
  await begun;
  await session.pause();
  await run.cancel();
  expect(await session.summary()).toMatchObject({ status: 'paused' });
});

test("[RUN8] a person's answer in place of the model is the answer of the run", async () => {
  const asked = Promise.withResolvers<void>();
  const model: Model = {
    ...scriptedModel(script),
    answer: ({ signal }) => {
      asked.resolve();
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  };
  const { session, runtime, types } = await startRuns({ model });
  undo.push(() => runtime.close());
  const run = await session.send('Go');
  await asked.promise;
  await session.handoff({ to: 'human' });
  await session.append({ role: 'assistant', content: 'I know it: 42.' });
  await session.handoff({ to: 'agent' });
  expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'I know it: 42.' });
  expect(await types()).toContain('message.abandoned');
});

test('[RUN8, WR3, CTX3] a result that a person supplies for a call is used, and the call does not run again', async () => {
  const { stuck, begun } = stuckTool('none');
  const { session, runtime } = await startRuns({ model: scriptedModel(script), tools: [stuck] });
  undo.push(() => runtime.close());
  const run = await session.send('Go');
  await begun;
  const { callId } = (await session.toolCalls()).calls[0]!;
  const part = { type: 'tool-result', callId, tool: 'guarded', outcome: 'ok', output: 'by hand' } as const;
  await expect(session.append({ role: 'tool', content: [part] })).rejects.toMatchObject({
    code: 'WRITER_FORBIDDEN',
    details: { callId, run: run.id },
  });
  await session.handoff({ to: 'human' });
  await session.append({ role: 'tool', content: [part] });
  await session.handoff({ to: 'agent' });
  expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
  const results = (await session.transcript()).entries.filter(({ message }) => message.role === 'tool');
  expect(results.map(({ message }) => message.content)).toEqual([[part]]);
  expect((await session.toolCalls()).calls).toMatchObject([{ callId, status: 'interrupted' }]);
});

test('[APPR1] an approval is valid only for the input that it was requested for', async () => {
  const ran: unknown[] = [];
  const guarded = defineTool({
    name: 'guarded',
    input: z.object({ to: z.string().optional() }),
    approval: true,
    execute: (input) => ran.push(input),
  });
  const setup = await startRuns({ model: scriptedModel(script), tools: [guarded] });
  undo.push(() => setup.runtime.close());
  const { session } = setup;
  const run = await session.send('Go');
  await run.result();
  const { callId } = (await setup.runtime.approvals.list())[0]!;
  await session.handoff({ to: 'human' });
  const other = { type: 'tool-call', callId, tool: 'guarded', input: { to: 'elsewhere' } } as const;
  await session.append({ role: 'assistant', content: [other] });
  await approveAll(setup);
  await session.handoff({ to: 'agent' });
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(ran).toEqual([]);
  const [result] = (await session.transcript()).entries.filter(({ message }) => message.role === 'tool');
  expect(result).toMatchObject({ message: { content: [{ callId, outcome: 'denied' }] } });
});

test('[APPR1, RUN5] an approval is listed even if an earlier question is still open', async () => {
  const asks = defineScript({
    name: 'asks-both',
    steps: [
      {
        calls: [
          { tool: 'ask', input: { question: 'Which?' } },
          { tool: 'guarded', input: {} },
        ],
      },
      { text: 'Done.' },
    ],
  });
  const setup = await startRuns({ model: scriptedModel(asks), tools: [guarded, askTool] });
  undo.push(() => setup.runtime.close());
  const run = await setup.session.send('Go');
  expect(await run.result()).toMatchObject({ waitingFor: 'question' });
  expect(await setup.runtime.approvals.list()).toMatchObject([{ tool: 'guarded', session: setup.session.id }]);
});

test('[RUN4] a cancel ends calls in flight even if the clock was set back during the call', async () => {
  let nowMs = Date.now();
  const { stuck, begun } = stuckTool('once');
  const { session, runtime } = await startRuns(
    { model: scriptedModel(script), tools: [stuck] },
    { clock: { now: () => nowMs } },
  );
  undo.push(() => runtime.close());
  const run = await session.send('Go');
  await begun;
  nowMs -= 3_600_000;
  await run.cancel();
  expect(await run.result()).toMatchObject({ status: 'cancelled' });
  expect((await session.toolCalls()).calls).toMatchObject([{ status: 'cancelled', durationMs: 0 }]);
});

test('[RUN24] a program that waits for a run is warned when no worker holds its agent, and only then', async () => {
  const done = defineScript({ name: 'done', everyTurn: true, steps: [{ text: 'Done.' }] });
  const agent = defineAgent({ name: 'tester', version: 1, model: done });
  const warned = Promise.withResolvers<unknown>();
  const warnings: unknown[] = [];
  const runtime = await openRuntime({
    store: openMemoryStore(),
    agents: [agent],
    worker: false,
    timing: { untakenMs: 1 },
    onWarning: (problem) => {
      warnings.push(problem);
      warned.resolve(problem);
    },
  });
  undo.push(() => runtime.close());
  const session = await runtime.sessions.open({ agent });
  const run = await session.send('Go');
  const byKey = runtime.as({
    workspace: 'local',
    member: 'local',
    role: 'admin',
    key: 'key_01m7mppcbwcv9dvjcgx9sdjcae',
  });
  const waitingByKey = (await (await byKey.sessions.get(session.id)).run(run.id)).result();
  const waiting = run.result();
  expect(await warned.promise).toMatchObject({
    code: 'AGENT_VERSION_UNAVAILABLE',
    message: expect.stringContaining(`no worker holds tester@1, so ${run.id} has not begun: start one by`),
  });
  await runtime.worker().start();
  expect(await waiting).toMatchObject({ status: 'succeeded', output: 'Done.' });
  expect(await (await session.send('Again')).result()).toMatchObject({ status: 'succeeded' });
  expect(await waitingByKey).toMatchObject({ status: 'succeeded' });
  expect(warnings).toHaveLength(1);
});
