import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import type { Model, ModelAnswer, ModelRequest } from '../../src/core/ports/model.ts';
import { type AgentDefinition, defineTool, type SessionEvent } from '../../src/index.ts';
import { type RunsSetup, startRuns } from '../support/runs/start-runs.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const charsPerToken = 4;
const outputTokens = 1000;
const windowTokens = 20_000 + outputTokens;
/** A text of that many tokens, with a name to find it by. */
const long = (name: string, tokens: number): string => `${name} ${'x'.repeat(tokens * charsPerToken)}`;

const grow = defineTool({
  name: 'grow',
  input: z.object({ tokens: z.number() }),
  effects: 'none',
  execute: ({ tokens }) => 'y'.repeat(Math.min(tokens, 3000) * charsPerToken),
});

/** An agent that answers immediately. When asked to grow, it calls a tool that returns more text, step by step. */
const start = async (policies: AgentDefinition['policies'] = {}) => {
  const requests: ModelRequest[] = [];
  const answerTo = ({ messages }: ModelRequest): ModelAnswer['parts'] => {
    const opening = messages.findLastIndex(({ role }) => role === 'user');
    const steps = messages.length - 1 - opening;
    const isGrowing = JSON.stringify(messages[opening]).includes('grow') && steps < 12;
    return isGrowing
      ? [{ type: 'tool-call', callId: `call_${requests.length}`, tool: 'grow', input: { tokens: 2000 } }]
      : [{ type: 'text', text: 'Done.' }];
  };
  const model: Model = {
    name: 'test/small',
    contextTokens: windowTokens,
    price: null,
    answer: async (request) => {
      requests.push(request);
      return { parts: answerTo(request), finish: 'stop', usage: { inputTokens: 1, outputTokens: 1 } };
    },
  };
  const setup = await startRuns({ model, tools: [grow], settings: { maxOutputTokens: outputTokens }, policies });
  undo.push(() => setup.runtime.close());
  return { ...setup, requests };
};

const turn = async ({ session }: RunsSetup, text: string): Promise<void> => {
  expect(await (await session.send(text)).result()).toMatchObject({ status: 'succeeded', output: 'Done.' });
};
const compactions = async ({ session }: RunsSetup): Promise<readonly SessionEvent<'context.compacted'>[]> =>
  (await Array.fromAsync(session.events())).filter((event) => event.type === 'context.compacted');
const messagesOf = ({ messages }: ModelRequest): string => JSON.stringify(messages);

test("[RUN17] at the window's threshold the older turns are compacted before the model is asked", async () => {
  const setup = await start();
  for (let number = 1; number <= 7; number++) await turn(setup, long(`turn${number}`, 2200));
  expect(await compactions(setup)).toHaveLength(0);
  await turn(setup, long('turn8', 2200));
  const [compaction, ...others] = await compactions(setup);
  expect(others).toEqual([]);
  const last = setup.requests.at(-1)!;
  for (const kept of ['turn5', 'turn6', 'turn7', 'turn8']) expect(messagesOf(last)).toContain(`"${kept} xxx`);
  expect(messagesOf(last)).not.toContain('turn4');
  expect(last.instructions).toContain('turns:1-4');
  const called = (await Array.fromAsync(setup.session.events())).findLast(({ type }) => type === 'model.called')!;
  expect(compaction!.seq).toBeLessThan(called.seq);
});

test('[RUN17, RUN35] turns that do not fit the window are compacted, so that the model sees their summary', async () => {
  const setup = await start();
  await turn(setup, long('first', 9000));
  await turn(setup, long('second', 9000));
  await turn(setup, 'third');
  expect(await compactions(setup)).toHaveLength(1);
  const last = setup.requests.at(-1)!;
  expect(messagesOf(last)).toContain('"second xxx');
  expect(messagesOf(last)).not.toContain('first');
  expect(last.instructions).toMatch(/recall it by key.*turns?:1\b/);
  await turn(setup, 'fourth');
  expect(await compactions(setup)).toHaveLength(1);
});

test('[RUN17, CTX4] when a turn outgrows the window, the earlier turns are compacted, in few steps', async () => {
  const setup = await start();
  for (let number = 1; number <= 3; number++) await turn(setup, long(`turn${number}`, 4000));
  const before = setup.requests.length;
  await turn(setup, 'grow');
  const made = await compactions(setup);
  expect(made.length).toBeGreaterThan(0);
  expect(made.length).toBeLessThanOrEqual(2);
  const requests = setup.requests.slice(before);
  const changes = requests.filter(
    (request, index) => index > 0 && request.instructions !== requests[index - 1]!.instructions,
  );
  expect(changes.length).toBeLessThanOrEqual(made.length);
  expect(requests.at(-1)!.instructions).toMatch(/turns:1-[23]/);
});

test('[RUN17] a failing summarizer does not end the run; a summary made without a model replaces it', async () => {
  const summarize = () => Promise.reject(new Error('the summarizing model is down'));
  const setup = await start({ summarize });
  for (let number = 1; number <= 8; number++) await turn(setup, long(`turn${number}`, 2200));
  expect(await compactions(setup)).toHaveLength(1);
});

test('[RUN17, WR1] a run that was taken over while it summarized compacts nothing', async () => {
  let isTakenOver = false;
  const setup: RunsSetup = await start({
    summarize: async () => {
      if (!isTakenOver) await (await setup.session.track({ look: async () => 'somebody else was here' })).look();
      isTakenOver = true;
      return 'a summary';
    },
  });
  for (let number = 1; number <= 8; number++) await turn(setup, long(`turn${number}`, 2200));
  const events = await Array.fromAsync(setup.session.events());
  const takenOn = events.findLast(({ type }) => type === 'run.started')!;
  expect(isTakenOver).toBe(true);
  expect((await compactions(setup)).map(({ seq }) => seq > takenOn.seq)).toEqual([true]);
});
