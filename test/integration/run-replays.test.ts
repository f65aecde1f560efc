import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Model, ModelFailure } from '../../src/core/ports/model.ts';
import { type AgentDefinition, defineAgent, defineScript, defineTool, type Script } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { startRuns } from '../support/runs/start-runs.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

let ran: string[] = [];
const act = (name: string, more: object = {}) =>
  defineTool({ name, input: z.object({ n: z.number() }), execute: ({ n }) => ran.push(`${name} ${n}`), ...more });
const ask = defineTool({
  name: 'ask',
  input: z.object({ n: z.number() }),
  effects: 'none',
  question: () => ({ text: 'Which?' }),
  execute: () => undefined,
});
let hangs = Promise.withResolvers<void>();
const hang = defineTool({
  name: 'hang',
  input: z.object({ n: z.number() }),
  execute: () => {
    hangs.resolve();
    return new Promise(() => undefined);
  },
});
const tools = [hang, act('look', { effects: 'none' }), act('pay'), act('wipe', { approval: true }), ask];
const script = (steps: Script['steps']) => scriptedModel(defineScript({ name: 'replayed', steps }));
const calls = (...names: readonly string[]) => names.map((tool, index) => ({ tool, input: { n: index + 1 } }));

const start = async (model: Model, more: Partial<AgentDefinition> = {}) => {
  ran = [];
  hangs = Promise.withResolvers();
  const setup = await startRuns({ model, tools, ...more });
  undo.push(() => setup.runtime.close());
  return setup;
};

test('[REPLAY1] denials, answers, invalid inputs and concurrent calls are not reported as departures', async () => {
  const { session, runtime } = await start(
    script([
      { calls: [...calls('look', 'look', 'pay'), { tool: 'look', input: { n: 'one' } }] },
      { calls: calls('wipe') },
      { calls: calls('ask') },
      { text: 'Done.' },
    ]),
  );
  const run = await session.send('Go');
  await run.result();
  const [approval] = await runtime.approvals.list();
  await session.deny(approval!.id, { comment: 'no' });
  expect(await run.result()).toMatchObject({ waitingFor: 'question' });
  const asked = (await Array.fromAsync(session.events())).find((event) => event.type === 'question.asked');
  await session.answer(asked!.payload.callId, 'That one');
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  const done = [...ran];
  expect((await session.replay({ turn: 1 })).departures).toEqual([]);
  expect(ran).toEqual(done);
});

test('[REPLAY1] inputs that arrived during or after a turn, and their cancellations, are not reported as departures', async () => {
  const { session } = await start(script([{ calls: calls('ask') }, { text: 'Done.' }]));
  const run = await session.send('Go');
  await run.result();
  await (await session.send('during')).cancel();
  const asked = (await Array.fromAsync(session.events())).find((event) => event.type === 'question.asked');
  await session.answer(asked!.payload.callId, 'That one');
  await run.waitForEnd();
  await session.pause();
  await (await session.send('after')).cancel();
  expect((await session.replay({ turn: 1 })).departures).toEqual([]);
});

test('[REPLAY1] failures of the model, and limits raised during the run, are not reported as departures', async () => {
  const answers = script([{ calls: calls('look') }, { text: 'Done.' }]);
  const failures = ['unavailable', 'overflow', 'timeout'] as const;
  let asked = 0;
  const shaky: Model = {
    ...answers,
    answer: async (request, onDelta) => {
      const failure = failures[asked++];
      if (failure) throw new ModelFailure(failure, 'not now');
      return answers.answer(request, onDelta);
    },
  };
  const { session } = await start(shaky);
  await session.append([
    { role: 'user', content: 'before' },
    { role: 'assistant', content: 'what is compacted' },
  ]);
  await session.limit({ tokens: 10 });
  const run = await session.send('Go');
  await run.result();
  await session.limit({});
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect((await session.replay({ turn: 2 })).departures).toEqual([]);
  const broken: Model = { ...answers, answer: () => Promise.reject(new ModelFailure('unavailable', 'never')) };
  const other = await start(broken, { policies: { maxModelWaitMs: 20 } });
  expect(await (await other.session.send('Go')).result()).toMatchObject({ error: { code: 'MODEL_UNAVAILABLE' } });
  expect((await other.session.replay({ turn: 1 })).departures).toEqual([]);
});

/** Runs cancelled at a question, in a call with one more to come, and while the model writes. */
const cutOff = {
  'at a question': async () => {
    const { session } = await start(script([{ calls: calls('look', 'ask') }, { text: 'Done.' }]));
    await (await session.send('Go')).result();
    return session;
  },
  'in a call': async () => {
    const { session } = await start(script([{ calls: calls('hang', 'pay') }, { text: 'Done.' }]));
    await session.send('Go');
    await hangs.promise;
    return session;
  },
  'while the model writes': async () => {
    const answers = script([{ calls: calls('look') }, { text: 'Done.' }]);
    const written = Promise.withResolvers<void>();
    let asked = 0;
    const slow: Model = {
      ...answers,
      answer: (request, onDelta) => {
        if (asked++ === 0) return answers.answer(request, onDelta);
        written.resolve();
        return new Promise(() => undefined);
      },
    };
    const { session } = await start(slow);
    await session.send('Go');
    await written.promise;
    return session;
  },
};

test.each(Object.entries(cutOff))(
  '[REPLAY3] a run that was cancelled %s has no departure up to its cancellation',
  async (_, play) => {
    const session = await play();
    await session.cancel();
    expect(await session.replay({ turn: 1 })).toMatchObject({ departures: [], upTo: 'cancelled' });
  },
);

test('[REPLAY3] an unfinished run has no departure up to its last event', async () => {
  const session = await cutOff['at a question']();
  const replay = await session.replay({ turn: 1 });
  expect(replay).toMatchObject({ departures: [], upTo: 'under-way' });
  expect((await session.replay({ turn: 1, model: script([{ text: 'Done.' }]) })).departures).not.toEqual([]);
});

test('[REPLAY3] when the replay would ask the model again where the recorded run ended, that end is reported as the departure', async () => {
  const { session } = await start(script([{ calls: calls('look') }, { text: 'Done.' }]), { policies: { maxSteps: 1 } });
  expect(await (await session.send('Go')).result()).toMatchObject({ error: { code: 'MAX_STEPS' } });
  const agent = defineAgent({ name: 'tester', version: 2, model: script([{ text: 'Done.' }]), tools });
  const replay = await session.replay({ turn: 1, agent });
  const end = { status: 'failed', output: null, error: 'MAX_STEPS' };
  expect(replay.departures).toEqual([{ step: 4, what: 'end', recorded: end, replayed: null }]);
  expect(replay.upTo).toBeUndefined();
});

test('[REPLAY1] the fork of a replay is archived and can be inspected, even when the replay failed', async () => {
  const { session, runtime } = await start(script([{ calls: calls('look', 'ask') }, { text: 'Done.' }]));
  await (await session.send('Go')).result();
  await session.cancel();
  const before = await session.summary();
  const { session: played } = await session.replay({ turn: 1 });
  const fork = await runtime.sessions.get(played);
  expect(await fork.summary()).toMatchObject({ status: 'archived', title: 'replay of turn 1' });
  expect((await fork.transcript()).entries).toHaveLength((await session.transcript()).entries.length);
  expect(await fork.verify()).toMatchObject({ ok: true });
  await expect(session.replay({ turn: 1, model: 'nowhere/none' })).rejects.toMatchObject({
    code: 'HOSTED_MODEL_UNAVAILABLE',
  });
  await session.limit({ tokens: 1 });
  await session.replay({ turn: 1, model: script([{ text: 'Done.' }]) });
  const { sessions } = await runtime.sessions.list();
  expect(sessions.filter(({ status }) => status !== 'archived').map(({ id }) => id)).toEqual([session.id]);
  expect(await session.summary()).toMatchObject({ ...before, seq: before.seq + 1, updatedAt: expect.any(Number) });
});

test('[REPLAY2] additional calls are reported separately, and unchanged ones are not reported', async () => {
  const { session } = await start(script([{ calls: calls('look') }, { calls: calls('pay') }, { text: 'Done.' }]));
  await (await session.send('Go')).result();
  const model = script([{ calls: calls('look', 'look') }, { calls: calls('pay') }, { text: 'Done.' }]);
  const { departures } = await session.replay({ turn: 1, model });
  expect(departures).toEqual([
    { step: 4, what: 'call', recorded: null, replayed: { tool: 'look', input: { n: 2 } } },
    { step: 5, what: 'outcome', recorded: null, replayed: { tool: 'look', outcome: 'interrupted' } },
  ]);
});

test('[REPLAY2] when a replay runs tools, calls that need an approval or an answer are not run', async () => {
  const { session } = await start(script([{ text: 'Done.' }]));
  await (await session.send('Go')).result();
  const model = script([{ calls: calls('look', 'wipe', 'ask') }, { text: 'Done.' }]);
  const { departures } = await session.replay({ turn: 1, model, live: true });
  const outcomes = departures.filter(({ what }) => what === 'outcome').map(({ replayed }) => replayed);
  expect(outcomes).toMatchObject([
    { tool: 'look', outcome: 'ok' },
    { tool: 'wipe', outcome: 'denied' },
    { tool: 'ask', outcome: 'interrupted' },
  ]);
  expect(ran).toEqual(['look 1']);
});
