import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Model, type ModelAnswer, ModelFailure } from '../../src/core/ports/model.ts';
import { defineTool, type SessionEvent } from '../../src/index.ts';
import { type RunsSetup, startRuns } from '../support/runs/start-runs.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

/** Each call advances the clock by one second of active time. */
let nowMs = Date.UTC(2026, 0, 1);
const clock = { now: () => nowMs };
const work = defineTool({
  name: 'work',
  input: z.object({}),
  effects: 'none',
  execute: () => {
    nowMs += 1000;
    return 'worked';
  },
});

const price = { input: 1, output: 10 };
const usage = { inputTokens: 1000, outputTokens: 100 };
const usd = (usage.inputTokens * price.input + usage.outputTokens * price.output) / 1e6;

/** A model with the given price. It makes one call in each turn, and its answers report their usage. */
const modelAt = (given: Model['price']): Model => ({
  name: 'test/model',
  contextTokens: 100_000,
  price: given,
  answer: async ({ messages }): Promise<ModelAnswer> => ({
    parts:
      messages.at(-1)!.role === 'tool'
        ? [{ type: 'text', text: 'Done.' }]
        : [{ type: 'tool-call', callId: `call_${messages.length}`, tool: 'work', input: {} }],
    finish: 'stop',
    usage: { ...usage, ...(given && { usd }) },
  }),
});

const start = async (given: Model['price'] = price, model = modelAt(given)): Promise<RunsSetup> => {
  const setup = await startRuns({ model, tools: [work], settings: { maxOutputTokens: 1000 } }, { clock });
  undo.push(() => setup.runtime.close());
  return setup;
};

const waitsOf = async ({ session }: RunsSetup): Promise<readonly (string | undefined)[]> =>
  (await Array.fromAsync(session.events()))
    .filter((event): event is SessionEvent<'run.waiting'> => event.type === 'run.waiting')
    .map(({ payload }) => payload.reason);

const answered = async ({ session }: RunsSetup): Promise<void> => {
  expect(await (await session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
};

test('[BUDGET2] at its token limit a run waits, once, until the limit allows the next call', async () => {
  const setup = await start();
  await setup.session.limit({ tokens: 200 });
  const run = await setup.session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
  await setup.session.limit({ tokens: 256 });
  await expect.poll(async () => (await waitsOf(setup)).length).toBe(2);
  await setup.session.limit({ tokens: 10_000 });
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(await waitsOf(setup)).toEqual([
    expect.stringMatching(/^the session's budget of 200 tokens has no room/),
    expect.stringMatching(/^the session's budget of 256 tokens has no room/),
  ]);
});

test('[BUDGET3] usage that a provider reported before its answer broke off is charged to the budget', async () => {
  const model = modelAt(price);
  let isFirst = true;
  const breaking: Model = {
    ...model,
    answer: async (...request) => {
      if (!isFirst) return model.answer(...request);
      isFirst = false;
      throw new ModelFailure('broken-stream', 'it broke off', { usage: { ...usage, usd } });
    },
  };
  const setup = await start(price, breaking);
  await setup.session.limit({ tokens: 2400 });
  const run = await setup.session.send('Go');
  expect(await run.result()).toMatchObject({
    status: 'waiting',
    waitingFor: 'budget',
    usage: { inputTokens: 2 * usage.inputTokens, outputTokens: 2 * usage.outputTokens },
  });
});

test('[BUDGET1] a limit of turns blocks the next turn only', async () => {
  const setup = await start();
  await setup.session.limit({ turns: 1 });
  await answered(setup);
  const second = await setup.session.send('And again');
  expect(await second.result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
  expect(await waitsOf(setup)).toEqual([
    "the session's budget of 1 turns is used up: 1 turns used; raise it with session.limit({ turns }) or `perdure limit SESSION --turns`",
  ]);
  await setup.session.limit({ turns: 2 });
  expect(await second.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[BUDGET1] USD are reserved before a call, for the request and the answer', async () => {
  const setup = await start();
  const shortest = (256 * price.output) / 1e6;
  await setup.session.limit({ usd: shortest });
  const run = await setup.session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
  expect(await setup.types()).not.toContain('model.called');
  await setup.session.limit({ usd: (1000 * price.output * 1.5) / 1e6 });
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', usage: { usd: usd * 2 } });
});

test('[BUDGET2] a USD limit without a known price blocks the run with a reason', async () => {
  const setup = await start(null);
  await answered(setup);
  await setup.session.limit({ usd: 100 });
  const run = await setup.session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
  expect((await waitsOf(setup))[0]).toContain('the price of test/model is not known');
  await run.cancel();
  expect(await run.waitForEnd()).toMatchObject({ status: 'cancelled' });
});

test('[BUDGET1] a limit of active time counts work, not waiting', async () => {
  const setup = await start();
  await setup.session.limit({ activeMs: 1000 });
  const run = await setup.session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
  expect(await waitsOf(setup)).toEqual([
    "the session's budget of 1000 ms of active time is used up: 1000 ms of active time used; raise it with session.limit({ activeMs }) or `perdure limit SESSION --active`",
  ]);
  nowMs += 60_000;
  await setup.session.limit({ activeMs: 1500 });
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test.each([
  ['turns', { turns: 1 }],
  ['tokens', { tokens: 2500 }],
  ['USD', { usd: 0.006 }],
  ['active time', { activeMs: 1000 }],
])('[BUDGET3] spent budget stays spent after a rewind: %s', async (_, limits) => {
  const setup = await start();
  await answered(setup);
  await setup.session.limit(limits);
  await setup.session.rewind({ to: { turn: 0 } });
  const run = await setup.session.send('Go');
  expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
});

test('[BUDGET1, FORK1] a fork has the budget that its parent had left at that point', async () => {
  const setup = await start();
  await setup.session.limit({ turns: 2 });
  await answered(setup);
  const fork = await setup.session.fork();
  expect(await (await fork.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  expect(await (await fork.send('Go')).result()).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
  await answered(setup);
});
