import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Agent, defineAgent, defineScript, defineTool, openRuntime } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const begun = () => Promise.withResolvers<void>();

/** A session of an agent, and runtimes that hold this agent or another one, all on one store. */
const start = async (onCall = begun()) => {
  const database = newMemoryDatabase();
  const look = defineTool({
    name: 'look',
    input: z.object({}),
    effects: 'none',
    execute: (_, { attempt, signal }) => {
      onCall.resolve();
      if (attempt > 1) return 'seen';
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  });
  const script = defineScript({
    name: 'looks',
    steps: [{ when: { userMatches: 'look' }, calls: [{ tool: 'look', input: {} }] }, { text: 'Done.' }],
  });
  const agent = defineAgent({ name: 'coder', version: 2, model: scriptedModel(script), tools: [look] });
  const other = defineAgent({ name: 'coder', version: 1, model: scriptedModel(script) });
  const open = async (held: Agent, onLook = () => {}) => {
    const store = openMemoryStore(database);
    const claim: typeof store.claim = async (asked) => {
      const claimed = await store.claim(asked);
      if (asked.strandedMs !== undefined) onLook();
      return claimed;
    };
    const runtime = await openRuntime({ store: overrideStore(store, { claim }), agents: [held], worker: false });
    undo.push(() => runtime.close());
    return runtime;
  };
  const holder = await open(agent);
  const session = await holder.sessions.open({ agent });
  const types = async () => (await Array.fromAsync(session.events())).map(({ type }) => type);
  return {
    holder,
    session,
    types,
    foreign: (onLook?: () => void) => open(other, onLook),
    onCall: onCall.promise,
  };
};

const waitsForAgent = {
  status: 'waiting',
  waitingFor: 'agent',
  reason: expect.stringMatching(/^AGENT_VERSION_UNAVAILABLE: .*coder version 2/),
};

test('[AGT2, AGT6] a run whose agent no worker holds waits for a worker that does, and the wait is recorded once', async () => {
  const { holder, session, types, foreign } = await start();
  for (const runtime of [await foreign(), await foreign()]) await runtime.worker({ pollMs: 20 }).start();
  const run = await session.send('Go');
  expect(await run.result()).toMatchObject(waitsForAgent);
  expect(await session.summary()).toMatchObject({ waiting: 'agent' });
  await (await foreign()).worker({ pollMs: 20 }).runUntilIdle();
  expect((await types()).filter((type) => type === 'run.waiting')).toHaveLength(1);
  await holder.worker().start();
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
  expect(await session.summary()).not.toHaveProperty('waiting');
});

test('[AGT2] a worker that does not hold the agent leaves the run to others', async () => {
  const { holder, session, types, foreign } = await start();
  const looked = Promise.withResolvers<void>();
  const run = await session.send('Go');
  await (await foreign(looked.resolve)).worker({ pollMs: 60_000 }).start();
  await looked.promise;
  await holder.worker().start();
  expect(await run.result()).toMatchObject({ status: 'succeeded' });
  expect(await types()).not.toContain('run.waiting');
});

test('[AGT2, AGT6, RUN6] a run that has started also waits for its agent when its worker is gone, and continues as the same run', async () => {
  const { holder, session, foreign, onCall } = await start();
  const first = holder.worker();
  await first.start();
  const run = await session.send('look');
  await onCall;
  await first.stop();
  await (await foreign()).worker({ pollMs: 20 }).start();
  await expect.poll(async () => (await session.summary()).waiting, { timeout: 10_000 }).toBe('agent');
  expect(await run.result()).toMatchObject(waitsForAgent);
  await holder.worker().start();
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
});

test('[AGT2, RUN4] a run that waits for its agent can be cancelled', async () => {
  const { session, foreign } = await start();
  await (await foreign()).worker({ pollMs: 20 }).start();
  const run = await session.send('Go');
  await run.result();
  await run.cancel();
  expect(await run.result()).toMatchObject({ status: 'cancelled' });
  expect(await session.summary()).not.toHaveProperty('waiting');
});

test('[MODEL14] an agent whose model is a script needs no registered model, even in a process that takes over its run', async () => {
  const database = newMemoryDatabase();
  const agentHere = () =>
    defineAgent({
      name: 'greeter',
      version: 1,
      model: defineScript({ name: 'greeting', steps: [{ text: 'Hello.' }, { text: 'Again.' }] }),
    });
  const open = async () => {
    const runtime = await openRuntime({ store: openMemoryStore(database), agents: [agentHere()], worker: false });
    undo.push(() => runtime.close());
    return runtime;
  };
  const first = await open();
  expect(first.agents.list()).toMatchObject([{ name: 'greeter', model: 'scripted/greeting' }]);
  const session = await first.sessions.open({ agent: first.agents.get('greeter') });
  const said: unknown[] = [];
  for (const runtime of [first, await open()]) {
    const run = await session.send('Hello');
    await runtime.worker().runUntilIdle();
    said.push(await run.result());
  }
  expect(said).toMatchObject([{ output: 'Hello.' }, { output: 'Again.' }]);
  const asked = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'model.called');
  expect(asked.map(({ payload }) => payload)).toMatchObject(Array(2).fill({ model: 'scripted/greeting' }));
});

test('[AGT4] an agent that changed under the same version causes one warning, with the parts that differ', async () => {
  const database = newMemoryDatabase();
  const search = (description: string) =>
    defineTool({ name: 'search', description, input: z.object({}), effects: 'none', execute: () => 'found' });
  const coder = (instructions: string, description: string) =>
    defineAgent({
      name: 'coder',
      model: defineScript({ everyTurn: true, steps: [{ text: 'Done.' }] }),
      instructions,
      tools: [search(description)],
    });
  const open = async (agent: Agent) => {
    const warnings: unknown[] = [];
    const onWarning = (problem: unknown) => void warnings.push(problem);
    const runtime = await openRuntime({ store: openMemoryStore(database), agents: [agent], worker: false, onWarning });
    undo.push(() => runtime.close());
    return { runtime, warnings };
  };
  const before = coder('Code.', 'Searches.');
  expect(before.version).toBe(1);
  const first = await open(before);
  const sessions = [
    await first.runtime.sessions.open({ agent: before }),
    await first.runtime.sessions.open({ agent: before }),
  ];
  const workOn = async ({ runtime }: Awaited<ReturnType<typeof open>>) => {
    for (const session of sessions) await session.send('Go');
    await runtime.worker().runUntilIdle();
  };
  const same = await open(coder('Code.', 'Searches.'));
  await workOn(same);
  expect(same.warnings).toEqual([]);
  const second = await open(coder('Code well.', 'Finds.'));
  await workOn(second);
  await workOn(second);
  expect(second.warnings).toMatchObject([
    {
      code: 'AGENT_CHANGED',
      message: expect.stringMatching(
        /^coder@1 changed since it was bound to ses_\w+: instructions, tools\.search; raise its version to 2$/,
      ),
      details: { changed: ['instructions', 'tools.search'] },
    },
  ]);
});
