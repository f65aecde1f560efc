import {
  dynamicTool,
  generateText,
  isStepCount,
  streamText,
  type ToolSet,
  tool,
  experimental_toolCaller as toolCaller,
} from 'ai';
import type { MockLanguageModelV4 } from 'ai/test';
import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Session } from '../../src/index.ts';
import { scriptedModel } from '../support/runs/scripted-model.ts';
import { newSession } from '../support/stores/new-session.ts';

const loopOf = (model: MockLanguageModelV4) => ({ model, prompt: 'go', stopWhen: isStepCount(5), maxRetries: 0 });

/** The tool results that the model received before the given step. */
const resultsBefore = (model: MockLanguageModelV4, step: number) => {
  const { prompt } = [...model.doGenerateCalls, ...model.doStreamCalls][step]!;
  return prompt.flatMap(({ role, content }) => (role === 'tool' ? content : []));
};

const callsOf = async (session: Session) => (await session.toolCalls()).calls.toReversed();
const endOf = async (session: Session) => {
  for await (const event of session.events()) {
    if (event.type === 'tool.completed' || event.type === 'tool.failed') return event.payload;
  }
  throw new Error('no call has ended');
};

const city = z.object({ city: z.string() });
const weather = tool({
  description: 'the weather',
  inputSchema: city,
  execute: async (input) => ({ city: input.city, degrees: 12 }),
});

test('[TRACK3] AI SDK tools keep their types, and the changes declared for them are typed by their input and output', async () => {
  const session = await newSession();
  const counting = tool({
    inputSchema: city,
    async *execute() {
      yield { count: 1 };
    },
  });
  const asked = tool({ inputSchema: city, outputSchema: z.string() });
  const remote = dynamicTool({ inputSchema: city, execute: async () => 'fine' });
  const tools = await session.track(
    { weather, counting, asked, remote },
    {
      weather: { files: (input, output) => ({ [`${input.city.trim()}-${output.degrees.toFixed()}`]: 'created' }) },
      counting: { summarize: (output) => output.count.toFixed() },
    },
  );
  const all: ToolSet = tools;
  expect(Object.keys(all)).toEqual(['weather', 'counting', 'asked', 'remote']);
  const model = scriptedModel([{ id: 'c1', tool: 'weather', input: { city: 'Bonn' } }]);
  const { steps } = await generateText({ ...loopOf(model), tools });
  const [result] = steps[0]!.toolResults;
  if (result?.dynamic || result?.toolName !== 'weather') throw new Error('another tool was called');
  expect(result.output.degrees).toBe(12);
  expect((await session.state()).filesModified).toMatchObject({ 'Bonn-12': { tool: 'weather', callId: 'c1' } });
});

test('[TRACK3] a synchronous function returns a promise when it is tracked', async () => {
  const session = await newSession();
  const tools = await session.track({
    double: (n: number) => n * 2,
    async *count(to: number) {
      for (let n = 1; n <= to; n++) yield n;
    },
  });
  expect(await tools.double(2).then((n) => n + 1)).toBe(5);
  const counted: number[] = [];
  for await (const n of tools.count(3)) counted.push(n);
  expect(counted).toEqual([1, 2, 3]);
  expect(await callsOf(session)).toMatchObject([
    { tool: 'double', status: 'ok' },
    { tool: 'count', status: 'ok' },
  ]);
});

test("[TRACK1] the loop of generateText journals each call under the model's id", async () => {
  const session = await newSession();
  const model = scriptedModel(
    [{ id: 'toolu_1', tool: 'weather', input: { city: 'Bonn' } }],
    [{ id: 'toolu_2', tool: 'weather', input: { city: 'Köln' } }],
  );
  const { text } = await generateText({ ...loopOf(model), tools: await session.track({ weather }) });
  expect(text).toBe('done');
  expect(await callsOf(session)).toMatchObject([
    { callId: 'toolu_1', tool: 'weather', status: 'ok', turn: 1 },
    { callId: 'toolu_2', tool: 'weather', status: 'ok', turn: 1 },
  ]);
  expect(await endOf(session)).toMatchObject({ output: { city: 'Bonn', degrees: 12 } });
  expect(await session.verify()).toMatchObject({ ok: true });
});

test('[TRACK1] a call id that cannot be stored is replaced, and the call still runs', async () => {
  const session = await newSession();
  const model = scriptedModel([{ id: 'x'.repeat(1000), tool: 'weather', input: { city: 'Bonn' } }]);
  await generateText({ ...loopOf(model), tools: await session.track({ weather }) });
  expect(resultsBefore(model, 1)).toMatchObject([{ toolCallId: 'x'.repeat(1000), output: { type: 'json' } }]);
  expect(await callsOf(session)).toMatchObject([{ callId: expect.stringMatching(/^call_/), status: 'ok' }]);
});

test('[TRACK1] calls of one step run concurrently, and the model receives the error of a call that throws', async () => {
  const session = await newSession();
  const bothRun = Promise.withResolvers<void>();
  let running = 0;
  const meet = tool({
    inputSchema: z.object({ fails: z.boolean() }),
    execute: async ({ fails }) => {
      running += 1;
      if (running === 2) bothRun.resolve();
      await bothRun.promise;
      if (fails) throw new RangeError('too far');
      return 'met';
    },
  });
  const model = scriptedModel([
    { id: 'a', tool: 'meet', input: { fails: false } },
    { id: 'b', tool: 'meet', input: { fails: true } },
  ]);
  await generateText({ ...loopOf(model), tools: await session.track({ meet }) });
  expect(await callsOf(session)).toMatchObject([
    { callId: 'a', status: 'ok' },
    { callId: 'b', status: 'threw' },
  ]);
  expect(resultsBefore(model, 1)).toMatchObject([
    { toolCallId: 'a', output: { type: 'text', value: 'met' } },
    { toolCallId: 'b', output: { type: 'error-text', value: expect.stringContaining('too far') } },
  ]);
  expect((await session.state()).toolsUsed.meet).toEqual({ calls: 2, ok: 1, failed: 1 });
});

test('[TRACK1] an input that the SDK rejects runs no tool and is not journaled', async () => {
  const session = await newSession();
  const model = scriptedModel([
    { id: 'a', tool: 'weather', input: { city: 7 } },
    { id: 'b', tool: 'wether', input: { city: 'Bonn' } },
  ]);
  const { text } = await generateText({ ...loopOf(model), tools: await session.track({ weather }) });
  expect(text).toBe('done');
  expect(resultsBefore(model, 1)).toMatchObject([
    { output: { type: 'error-text' } },
    { output: { type: 'error-text' } },
  ]);
  expect((await session.toolCalls()).calls).toEqual([]);
});

test('[TRACK3] a tool that yields preliminary results still yields them, and the last one is the outcome', async () => {
  const session = await newSession();
  let during: unknown;
  const search = tool({
    inputSchema: z.object({ for: z.string() }),
    async *execute(input) {
      during = (await session.toolCalls()).calls;
      yield { status: 'searching' };
      yield { status: 'found', what: input.for };
    },
  });
  const model = scriptedModel([{ id: 's1', tool: 'search', input: { for: 'a port' } }]);
  const results: unknown[] = [];
  for await (const part of streamText({ ...loopOf(model), tools: await session.track({ search }) }).fullStream) {
    if (part.type === 'tool-result') results.push([part.preliminary ?? false, part.output]);
  }
  const found = { status: 'found', what: 'a port' };
  expect(results).toEqual([
    [true, { status: 'searching' }],
    [true, found],
    [false, found],
  ]);
  expect(during).toMatchObject([{ callId: 's1', status: 'running' }]);
  expect(await endOf(session)).toMatchObject({ callId: 's1', output: found });
  expect(resultsBefore(model, 1)).toMatchObject([{ output: { type: 'json', value: found } }]);
});

test('[TRACK4] a stream that throws has failed, and one that is not read to its end was cancelled', async () => {
  const session = await newSession();
  let closed = 0;
  const tools = await session.track({
    ticks: tool({
      inputSchema: z.object({ fails: z.boolean() }),
      async *execute({ fails }) {
        try {
          yield 1;
          if (fails) throw new Error('broke off');
          yield 2;
        } finally {
          closed += 1;
        }
      },
    }),
  });
  const model = scriptedModel([{ id: 't1', tool: 'ticks', input: { fails: true } }]);
  await streamText({ ...loopOf(model), tools }).consumeStream();
  const ticks = tools.ticks.execute({ fails: false }, { toolCallId: 't2', messages: [], context: {} });
  for await (const tick of ticks as AsyncIterable<number>) if (tick === 1) break;
  expect(closed).toBe(2);
  expect(await callsOf(session)).toMatchObject([
    { callId: 't1', status: 'threw' },
    { callId: 't2', status: 'cancelled' },
  ]);
});

test('[TRACK3] a tool that returns a stream without being a generator returns its last value', async () => {
  const session = await newSession();
  const chunks = async function* (n: number) {
    yield { n };
    yield { n: n + 1 };
  };
  const hidden = tool({ inputSchema: z.object({ n: z.number() }), execute: ({ n }) => chunks(n) });
  const model = scriptedModel([{ id: 'h1', tool: 'hidden', input: { n: 1 } }]);
  await generateText({ ...loopOf(model), tools: await session.track({ hidden }) });
  expect(await endOf(session)).toMatchObject({ callId: 'h1', output: { n: 2 } });
  expect(resultsBefore(model, 1)).toMatchObject([{ output: { type: 'json', value: { n: 2 } } }]);
});

test('[TRACK4] a call fails as cancelled or timed out, whatever it throws, if its abort signal had fired', async () => {
  const session = await newSession();
  const user = new AbortController();
  const untilAborted = async (signal: AbortSignal | undefined): Promise<string> => {
    if (!signal!.aborted) await new Promise((resolve) => signal!.addEventListener('abort', resolve, { once: true }));
    throw new Error('connection lost');
  };
  const tools = await session.track({
    slow: tool({ inputSchema: z.object({}), execute: (_, { abortSignal }) => untilAborted(abortSignal) }),
    stopped: tool({
      inputSchema: z.object({}),
      execute: (_, { abortSignal }) => {
        setImmediate(() => user.abort(new Error('the user has left')));
        return untilAborted(abortSignal);
      },
    }),
  });
  const slow = scriptedModel([{ id: 'a', tool: 'slow', input: {} }]);
  await generateText({ ...loopOf(slow), tools, timeout: { toolMs: 20 } });
  const stopped = scriptedModel([{ id: 'b', tool: 'stopped', input: {} }]);
  await generateText({ ...loopOf(stopped), tools, abortSignal: user.signal }).catch(() => undefined);
  expect(await callsOf(session)).toMatchObject([
    { callId: 'a', status: 'timeout' },
    { callId: 'b', status: 'cancelled' },
  ]);
});

test('[TRACK3] every other property of a tool is preserved: toModelOutput, approvals, hidden ones, a missing execute', async () => {
  const session = await newSession();
  const told = tool({
    inputSchema: city,
    execute: async () => ({ secret: 1, shown: 'rain' }),
    toModelOutput: ({ output }) => ({ type: 'text', value: output.shown }),
  });
  const approved = tool({ inputSchema: city, needsApproval: true, execute: async () => 'never without approval' });
  const asked = tool({ description: 'a question for a person', inputSchema: city, outputSchema: z.string() });
  const caller = toolCaller(weather, { type: 'provider', prepareProviderOptions: () => ({}) });
  const tools = await session.track({ told, approved, asked, caller });
  expect(tools.asked).toBe(asked);
  expect(tools.approved.needsApproval).toBe(true);
  expect(tools.told.toModelOutput).toBe(told.toModelOutput);
  expect(tools.caller).toHaveProperty('experimental_toolCaller');
  const model = scriptedModel(
    [{ id: 'a', tool: 'told', input: { city: 'Bonn' } }],
    [
      { id: 'b', tool: 'approved', input: { city: 'Bonn' } },
      { id: 'c', tool: 'asked', input: { city: 'Bonn' } },
    ],
  );
  const { content } = await generateText({ ...loopOf(model), tools });
  expect(resultsBefore(model, 1)).toMatchObject([{ output: { type: 'text', value: 'rain' } }]);
  expect(content).toContainEqual(expect.objectContaining({ type: 'tool-approval-request' }));
  expect(await callsOf(session)).toMatchObject([{ callId: 'a', tool: 'told', status: 'ok' }]);
  expect(await endOf(session)).toMatchObject({ output: { secret: 1, shown: 'rain' } });
});

test('[TRACK3] a dynamic tool is tracked, and keeps its type', async () => {
  const session = await newSession();
  const remote = dynamicTool({ inputSchema: city, execute: async (input) => ({ echoed: input }) });
  const model = scriptedModel([{ id: 'd1', tool: 'remote', input: { city: 'Bonn' } }]);
  const { steps } = await generateText({ ...loopOf(model), tools: await session.track({ remote }) });
  expect(steps[0]!.toolResults).toMatchObject([{ dynamic: true, output: { echoed: { city: 'Bonn' } } }]);
  expect(await callsOf(session)).toMatchObject([{ callId: 'd1', tool: 'remote', status: 'ok' }]);
});

test('[TRACK2] when another process has taken over the session, the loop gets an error and runs no tool', async () => {
  const session = await newSession();
  let runs = 0;
  const count = tool({ inputSchema: z.object({}), execute: async () => ++runs });
  const model = scriptedModel([{ id: 'a', tool: 'count', input: {} }], [{ id: 'b', tool: 'count', input: {} }]);
  await generateText({
    ...loopOf(model),
    tools: await session.track({ count }),
    onStepEnd: async ({ stepNumber }) => {
      if (stepNumber === 0) await session.rewind({ to: { turn: 1 } });
    },
  });
  expect(runs).toBe(1);
  expect(resultsBefore(model, 2).at(-1)).toMatchObject({ output: { type: 'error-text' } });
});
