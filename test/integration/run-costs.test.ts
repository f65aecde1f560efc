import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model, ModelRequest } from '../../src/core/ports/model.ts';
import { type AgentDefinition, defineTool, type SessionEvent } from '../../src/index.ts';
import { type RunsSetup, startRuns } from '../support/runs/start-runs.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

type Answer = Awaited<ReturnType<Model['answer']>>;
const price = { input: 1, output: 10 };

/** A model that records its requests. Its answers are as `answer` says, by default a short text. */
const modelOf = (answer: (request: ModelRequest, step: number) => Partial<Answer> = () => ({})) => {
  const requests: ModelRequest[] = [];
  const model: Model = {
    name: 'test/model',
    contextTokens: 100_000,
    price,
    answer: async (request) => {
      requests.push(request);
      return {
        parts: [{ type: 'text', text: 'Done.' }],
        finish: 'stop',
        usage: { inputTokens: 40, outputTokens: 5, usd: 0.00009 },
        ...answer(request, requests.length),
      };
    },
  };
  return { model, requests };
};

const start = async (agent: Partial<AgentDefinition> & { model: Model }): Promise<RunsSetup> => {
  const setup = await startRuns(agent);
  undo.push(() => setup.runtime.close());
  return setup;
};

const callsOf = async ({ session }: RunsSetup): Promise<readonly SessionEvent<'model.called'>[]> =>
  (await Array.fromAsync(session.events())).filter((event) => event.type === 'model.called');

const outputOf = (requests: readonly ModelRequest[]) => requests.map(({ settings }) => settings.maxOutputTokens);

test('[COST9] a budget of 500 tokens starts a run, and asks for no longer an answer than it leaves', async () => {
  const { model, requests } = modelOf();
  const setup = await start({ model });
  await setup.session.limit({ tokens: 500 });
  expect(await (await setup.session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  const [called] = await callsOf(setup);
  expect(outputOf(requests)).toEqual([500 - called!.payload.requestTokens]);
  expect(called!.payload).toMatchObject({
    reservedTokens: 500,
    settings: { maxOutputTokens: 16_384 },
    budgetedOutputTokens: outputOf(requests)[0],
  });
  expect((await setup.session.replay({ turn: 1 })).departures, 'a replay has no budget').toEqual([]);
});

test('[COST9] a budget in USD shortens the answer too, and without a budget the agent decides', async () => {
  const { model, requests } = modelOf();
  const setup = await start({ model });
  await (await setup.session.send('Go')).result();
  await setup.session.limit({ usd: 0.006 });
  expect(await (await setup.session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  const [, called] = await callsOf(setup);
  const left = 0.006 - 0.00009 - (called!.payload.requestTokens * price.input) / 1e6;
  expect(outputOf(requests)).toEqual([16_384, Math.floor((left * 1e6) / price.output)]);
});

test('[COST9] an agent that wants short answers needs no room for 256 tokens', async () => {
  const { model, requests } = modelOf();
  const setup = await start({ model, settings: { maxOutputTokens: 20 } });
  await setup.session.limit({ tokens: 150 });
  expect(await (await setup.session.send('Go')).result()).toMatchObject({ status: 'succeeded' });
  expect(outputOf(requests)).toEqual([20]);
});

test('[COST14] a model with a small window is asked for half of it at most, and older turns are kept', async () => {
  const { model, requests } = modelOf();
  const setup = await start({ model: { ...model, contextTokens: 8000 } });
  for (let turn = 1; turn <= 6; turn++) await (await setup.session.send('Go')).result();
  expect(new Set(outputOf(requests))).toEqual(new Set([4000]));
  expect(await setup.types()).not.toContain('context.compacted');
});

test('[COST10] a run without room for the shortest answer says every number and the option that changes it', async () => {
  const { model } = modelOf();
  const setup = await start({ model });
  await setup.session.limit({ tokens: 270 });
  const run = await setup.session.send('Go');
  const waiting = await run.result();
  expect(waiting).toMatchObject({ status: 'waiting', waitingFor: 'budget' });
  const { reason = '' } = waiting as { reason?: string };
  const [, request = ''] = /the request needs about (\d+) tokens/.exec(reason) ?? [];
  expect(reason).toBe(
    `the session's budget of 270 tokens has no room for the next answer: 0 tokens used, the request needs about ${request} tokens, and the shortest answer (256 output tokens) 256 tokens, together ${Number(request) + 256} tokens; raise it with session.limit({ tokens }) or \`perdure limit SESSION --tokens\``,
  );
  await setup.session.limit({ tokens: Number(request) + 256 });
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  await setup.session.limit({ usd: 0.001 });
  const poor = await setup.session.send('Go on');
  expect(await poor.result()).toMatchObject({
    reason: expect.stringMatching(
      /^the session's budget of 0\.001000 USD has no room for the next answer: 0\.000090 USD used, the request needs about 0\.0000\d\d USD, and the shortest answer \(256 output tokens\) 0\.002560 USD, together 0\.00\d+ USD; raise it with session\.limit\({ usd }\) or `perdure limit SESSION --usd`$/,
    ),
  });
});

test('[COST10] an answer that the budget cut off fails the run, and says so', async () => {
  const { model } = modelOf(() => ({ finish: 'length' }));
  const setup = await start({ model });
  await setup.session.limit({ tokens: 500 });
  expect(await (await setup.session.send('Go')).result()).toMatchObject({
    status: 'failed',
    error: {
      code: 'MODEL_LENGTH',
      message: expect.stringMatching(
        /cut off at \d+ output tokens, .* the session's budget or a quota left: raise the budget with/,
      ),
    },
  });
  await setup.session.limit({});
  expect(await (await setup.session.send('Go')).result()).toMatchObject({
    error: { code: 'MODEL_LENGTH', message: expect.stringContaining('raise settings.maxOutputTokens') },
  });
});

const many = Array.from({ length: 17 }, (_, index) =>
  defineTool({
    name: `tool_${index}`,
    description: 'Does something that takes a few words to describe to the model.',
    input: z.object({
      path: z.string().describe('The path of the file, relative to the folder of the session.'),
      limit: z.number().optional().describe('The maximum number of lines to return.'),
    }),
    effects: 'none',
    execute: () => 'ok',
  }),
);

test('[COST7] the schemas of tools and of the output count for the reservation', async () => {
  const { model, requests } = modelOf(() => ({ parts: [{ type: 'text', text: '{"a":"b"}' }] }));
  const plain = await start({ model });
  await (await plain.session.send('Go')).result();
  const [bare] = await callsOf(plain);
  const withTools = await start({ model, tools: many, output: z.object({ a: z.string() }) });
  await (await withTools.session.send('Go')).result();
  const [full] = await callsOf(withTools);
  const { tools, output } = requests[1]!;
  const sent = [...tools, output].reduce((sum, each) => sum + Math.ceil(JSON.stringify(each).length / 4), 0);
  expect(sent).toBeGreaterThan(1000);
  expect(full!.payload.requestTokens - bare!.payload.requestTokens).toBe(sent);
});

test('[COST7] the schemas count for the context window', async () => {
  const long = 'word '.repeat(400);
  const contextOf = async (tools: readonly (typeof many)[number][]) => {
    const { model, requests } = modelOf();
    const setup = await start({
      model: { ...model, contextTokens: 5000 },
      tools,
      settings: { maxOutputTokens: 500 },
    });
    for (let turn = 0; turn < 8; turn++) await (await setup.session.send(long)).result();
    return requests.at(-1)!.messages.length;
  };
  expect(await contextOf(many)).toBeLessThan(await contextOf([]));
});

test('[COST8] the estimate is corrected by the tokens that the provider reports', async () => {
  const step = defineTool({ name: 'step', input: z.object({}), effects: 'none', execute: () => 'x'.repeat(4000) });
  /** A provider whose tokens have two characters. */
  const tokensOf = ({ instructions, messages, tools }: ModelRequest): number =>
    Math.ceil(JSON.stringify([instructions, messages, tools]).length / 2);
  const { model, requests } = modelOf((request, answers) => ({
    usage: { inputTokens: tokensOf(request), outputTokens: 5, usd: 0 },
    ...(answers % 6 !== 0 && { parts: [{ type: 'tool-call', callId: `call_${answers}`, tool: 'step', input: {} }] }),
  }));
  const setup = await start({ model, tools: [step] });
  await (await setup.session.send('Go')).result();
  const calls = await callsOf(setup);
  const errors = calls.map(({ payload }, index) => payload.requestTokens / tokensOf(requests[index]!));
  expect(errors[0]).toBeLessThan(0.7);
  expect(errors.at(-1)).toBeGreaterThan(0.8);
  expect(errors.at(-1)).toBeLessThan(1.2);
  const raw = calls.at(-1)!.payload;
  expect(raw.estimatedTokens! / tokensOf(requests.at(-1)!)).toBeLessThan(0.7);
  await (await setup.session.send('And on')).result();
  const next = (await callsOf(setup))[6]!.payload;
  expect(next.requestTokens).toBeGreaterThan(next.estimatedTokens! * 1.3);
});
