import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, type Runtime, type RuntimeOptions } from '../../src/index.ts';
import { moduleUrl, runScript } from '../support/cli/run-script.ts';
import { type RuntimePlace, runtimeKinds, runtimePlace } from '../support/stores/runtime-places.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const agent = defineAgent({
  name: 'greeter',
  model: defineScript({
    everyTurn: true,
    steps: [{ when: { userMatches: 'deploy' }, calls: [{ tool: 'deploy', input: {} }] }, { text: 'Hello.' }],
  }),
  tools: [defineTool({ name: 'deploy', input: z.object({}), approval: true, execute: () => 'done' })],
});

const placeOf = async (kind: (typeof runtimeKinds)[number] = 'memory') => {
  const place = await runtimePlace(kind);
  undo.push(place.remove);
  return place;
};

/** Opens a runtime on the store that executes runs by itself, unless the options say otherwise. */
const openOn = async (place: RuntimePlace, options: Partial<RuntimeOptions> = {}): Promise<Runtime> => {
  const runtime = await place.open({ agents: [agent], worker: true, ...options });
  undo.push(() => runtime.close());
  return runtime;
};

const workersOf = async (runtime: Runtime) => (await runtime.workers()).filter(({ status }) => status === 'working');

describe.each(runtimeKinds)('on %s', (kind) => {
  test('[RUN28] a run is executed even if the program starts no worker', async () => {
    const runtime = await openOn(await placeOf(kind));
    const session = await runtime.sessions.open({ agent });
    const run = await session.send('Hello');
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Hello.' });
    expect(await workersOf(runtime)).toMatchObject([{ agents: ['greeter@1'] }]);
  });
});

test('[RUN28] a runtime that was opened with `worker: false`, or holds no agent, leaves runs to others', async () => {
  const place = await placeOf();
  const runtime = await openOn(place, { worker: false });
  const session = await runtime.sessions.open({ agent });
  const run = await session.send('Hello');
  const withoutAgents = await openOn(place, { agents: [] });
  const waiting = (await (await withoutAgents.sessions.get(session.id)).run(run.id)).result();
  expect(await workersOf(runtime)).toEqual([]);
  expect(await session.inputs()).toHaveLength(1);
  await (await openOn(place, { worker: false })).worker().runUntilIdle();
  expect(await waiting).toMatchObject({ status: 'succeeded' });
});

test('[RUN28] a process that waits for a run that another process admitted executes it', async () => {
  const place = await placeOf();
  const session = await (await openOn(place, { worker: false })).sessions.open({ agent });
  const { id } = await session.send('Hello');
  const elsewhere = await (await openOn(place)).sessions.get(session.id);
  expect(await (await elsewhere.run(id)).waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[RUN28] a run continues when its approval is answered in another process', async () => {
  const place = await placeOf();
  const first = await openOn(place, { worker: false });
  const session = await first.sessions.open({ agent });
  const run = await session.send('deploy');
  await first.worker().runUntilIdle();
  const [approval] = await first.approvals.list();
  await (await openOn(place)).approvals.approve(approval!.id);
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[RUN28] the runtime starts no worker of its own while a worker of the program serves the session', async () => {
  const runtime = await openOn(await placeOf());
  await runtime.worker({ concurrency: 7 }).start();
  const session = await runtime.sessions.open({ agent });
  await (await session.send('Hello')).result();
  expect(await workersOf(runtime)).toMatchObject([{ concurrency: 7 }]);
});

test('[RUN28] a worker that serves one session does not leave other sessions without a worker', async () => {
  const runtime = await openOn(await placeOf());
  const [one, other] = [await runtime.sessions.open({ agent }), await runtime.sessions.open({ agent })];
  await runtime.worker({ session: one.id }).start();
  await (await one.send('Hello')).result();
  expect(await workersOf(runtime)).toHaveLength(1);
  expect(await (await other.send('Hello')).result()).toMatchObject({ status: 'succeeded' });
  expect(await workersOf(runtime)).toHaveLength(2);
});

test('[RUN28, RUN30] a worker that the program starts replaces the one of the runtime, which starts again when the program stops its worker', async () => {
  const runtime = await openOn(await placeOf());
  const session = await runtime.sessions.open({ agent });
  const answer = async () => (await session.send('Hello')).result();
  await answer();
  const worker = runtime.worker({ concurrency: 7 });
  await worker.start();
  await expect.poll(() => workersOf(runtime)).toMatchObject([{ concurrency: 7 }]);
  await answer();
  await worker.stop();
  expect(await workersOf(runtime)).toEqual([]);
  expect(await answer()).toMatchObject({ status: 'succeeded' });
});

test('[RUN29] a runtime that closes stops its worker, and starts no other', async () => {
  const place = await placeOf();
  const runtime = await openOn(place);
  const session = await runtime.sessions.open({ agent });
  await (await session.send('Hello')).result();
  await runtime.close();
  await expect(session.send('Hello')).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
  expect(await workersOf(await openOn(place))).toEqual([]);
});

test('[RUN29] closing waits for the call in progress, and its outcome is in the log', async () => {
  const place = await placeOf();
  const [begun, paid] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const payer = defineAgent({
    name: 'payer',
    model: defineScript({ steps: [{ calls: [{ tool: 'pay', input: {} }] }, { text: 'Paid.' }] }),
    tools: [
      defineTool({
        name: 'pay',
        input: z.object({}),
        effects: 'once',
        execute: () => {
          begun.resolve();
          return paid.promise;
        },
      }),
    ],
  });
  const runtime = await openOn(place, { agents: [payer] });
  const session = await runtime.sessions.open({ agent: payer });
  const run = await session.send('Pay');
  await begun.promise;
  const closed = runtime.close();
  paid.resolve('paid');
  await closed;
  const next = await openOn(place, { agents: [payer], worker: false });
  const again = await next.sessions.get(session.id);
  expect((await again.toolCalls()).calls).toMatchObject([{ tool: 'pay', status: 'ok' }]);
  expect(await (await again.run(run.id)).status()).toMatchObject({ status: 'running' });
  await next.worker().runUntilIdle();
  expect(await (await again.run(run.id)).result()).toMatchObject({ status: 'succeeded', output: 'Paid.' });
});

/**
 * A program on the store that does not close its runtime. Its agent calls `wait`, whose first attempt never ends,
 * where the input asks for it.
 */
const program = (address: string, body: string) => `
  const { defineAgent, defineScript, defineTool, openRuntime } = await import(${moduleUrl('src/index.ts')});
  const { z } = await import(${moduleUrl('node_modules/zod/index.js')});
  const wait = defineTool({ name: 'wait', input: z.object({}), effects: 'idempotent', usesFiles: false,
    execute: (_, { attempt }) => {
      if (attempt > 1) return 'waited';
      console.log('waits');
      return new Promise(() => {});
    } });
  const steps = [{ when: { userMatches: 'wait' }, calls: [{ tool: 'wait', input: {} }] }, { text: 'Hello.' }];
  const agent = defineAgent({ name: 'greeter', model: defineScript({ everyTurn: true, steps }), tools: [wait] });
  const runtime = await openRuntime({ store: ${JSON.stringify(address)}, agents: [agent] });
  ${body}`;

const openSession = 'const session = await runtime.sessions.open({ agent });';
const findSession = `const { sessions: [{ id }] } = await runtime.sessions.list();
  const session = await runtime.sessions.get(id);
  const events = await Array.fromAsync(session.events());`;

describe.each(storeKinds)('a program on %s', (kind) => {
  const start = async () => {
    const place = await newStorePlace(kind);
    undo.push(place.remove);
    return (body: string) => {
      const script = runScript(program(place.address, body));
      onTestFinished(() => script.kill());
      return script;
    };
  };

  test('[RUN29, RUN40] exits by itself after its last run', async () => {
    const run = await start();
    const script = run(`${openSession} console.log((await (await session.send('Hello')).result()).output);`);
    expect(await script.line()).toBe('Hello.');
    expect(await script.ended).toEqual({ code: 0, said: '' });
  });

  test('[RUN29, RUN40] that sends an input and does not wait for it exits when the run has ended', async () => {
    const run = await start();
    const script = run(`${openSession} await session.send('Hello');`);
    expect(await script.ended).toEqual({ code: 0, said: '' });
    const reader = run(`${findSession} console.log(events.at(-1).type);`);
    expect(await reader.line()).toBe('run.ended');
    expect(await reader.ended).toEqual({ code: 0, said: '' });
  });

  test('[RUN28, RUN6] that is killed in the middle of a call loses its run to another program that waits for it', async () => {
    const run = await start();
    const first = run(`${openSession} await (await session.send('wait')).result();`);
    expect(await first.line()).toBe('waits');
    first.kill();
    await first.ended;
    const second = run(`${findSession}
      const run = await session.run(events.find(({ type }) => type === 'input.admitted').payload.run);
      const { status, output } = await run.result();
      console.log(status, output);`);
    expect(await second.line()).toBe('succeeded Hello.');
    expect(await second.ended).toEqual({ code: 0, said: '' });
  });
});
