import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { z } from 'zod';
import { type Model, ModelFailure } from '../../src/core/ports/model.ts';
import { preferMs } from '../../src/core/ports/queue.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import type { Tool } from '../../src/core/ports/tool.ts';
import {
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  PerdureError,
  type RuntimeOptions,
} from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { subagent } from '../../src/tools/index.ts';
import { moduleUrl, runScript } from '../support/cli/run-script.ts';
import { overrideStore } from '../support/stores/override-store.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const script = defineScript({
  name: 'looks',
  steps: [{ when: { userMatches: 'look' }, calls: [{ tool: 'look', input: {} }] }, { text: 'Done.' }],
});

const again = defineScript({
  name: 'again',
  steps: [{ text: 'Done.' }, { calls: [{ tool: 'look', input: {} }] }, { text: 'Done.' }],
});

/** Records the calls of the tool. The test ends each of them. */
const newCalls = () => {
  const begun = Promise.withResolvers<void>();
  const calls: { readonly attempt: number; readonly signal: AbortSignal; readonly end: () => void }[] = [];
  const look = defineTool({
    name: 'look',
    input: z.object({}),
    effects: 'idempotent',
    execute: (_, { attempt, signal }) => {
      const seen = Promise.withResolvers<string>();
      signal.addEventListener('abort', () => seen.reject(signal.reason));
      calls.push({ attempt, signal, end: () => seen.resolve('seen') });
      begun.resolve();
      return seen.promise;
    },
  });
  return { look, calls, begun: begun.promise };
};

/** Runtimes on one store, as in several processes. */
const newCluster = (model: Model = scriptedModel(script)) => {
  const database = newMemoryDatabase();
  const { look, ...controls } = newCalls();
  const agent = defineAgent({ name: 'coder', version: 1, model, tools: [look] });
  const warnings: unknown[] = [];
  const open = async (
    change: (store: RuntimeStore) => Partial<RuntimeStore> = () => ({}),
    options: Partial<RuntimeOptions> = {},
  ) => {
    const store = openMemoryStore(database);
    const runtime = await openRuntime({
      store: overrideStore<RuntimeStore>(store, change(store)),
      agents: [agent],
      worker: false,
      onWarning: (problem) => warnings.push(problem),
      timing: { modelBackoffMs: 1 },
      ...options,
    });
    undo.push(() => runtime.close());
    return runtime;
  };
  return { agent, open, warnings, ...controls };
};

const acme = { workspace: 'acme', member: 'ann', role: 'admin' } as const;
const typesOf = async (session: { events(): AsyncIterable<{ type: string }> }) =>
  (await Array.fromAsync(session.events())).map(({ type }) => type);

test("[WORKER1] a runtime's worker serves all workspaces, and a workspace's worker only that one", async () => {
  const { agent, open } = newCluster();
  const runtime = await open();
  const here = await runtime.sessions.open({ agent });
  const there = await runtime.as(acme).sessions.open({ agent });
  const runs = [await here.send('Go'), await there.send('Go')];
  await runtime.as(acme).worker().runUntilIdle();
  expect(await runs[1]!.status()).toMatchObject({ status: 'succeeded' });
  expect(await runs[0]!.status()).toMatchObject({ status: 'running' });
  await runtime.worker().runUntilIdle();
  expect(await runs[0]!.status()).toMatchObject({ status: 'succeeded' });
});

test('[WORKER2] workers are listed with their sessions until they end, and each workspace sees only its own sessions', async () => {
  const { agent, open, calls, begun } = newCluster();
  const runtime = await open();
  const session = await runtime.sessions.open({ agent });
  const worker = runtime.worker({ concurrency: 3 });
  await worker.start();
  const run = await session.send('look');
  await begun;
  const common = { concurrency: 3, busy: 1, agents: ['coder@1'], status: 'working', process: process.pid };
  expect(await runtime.workers()).toMatchObject([{ ...common, holds: [session.id], isOwn: false, hasRoom: true }]);
  expect(await runtime.as(acme).workers()).toMatchObject([{ ...common, holds: [] }]);
  expect(worker.state()).toMatchObject({ holds: 1, isEnding: false });
  calls[0]!.end();
  await run.waitForEnd();
  await worker.stop();
  expect(await runtime.workers()).toEqual([]);
});

test("[WORKER2, WORKER17] a caller with an API key sees whether a worker has capacity, but not its machine or others' sessions", async () => {
  const { agent, open, calls, begun } = newCluster();
  const runtime = await open();
  const byKey = async (workspace: string) => {
    const { token } = await runtime.as({ workspace, member: 'ann', role: 'admin' }).keys.create();
    return runtime.as((await runtime.authenticate(token))!.identity);
  };
  const [mine, theirs] = [await byKey('local'), await byKey('acme')];
  const session = await mine.sessions.open({ agent });
  const worker = runtime.worker({ concurrency: 1 });
  await worker.start();
  const run = await session.send('look');
  await begun;
  const [seenByMe, seenByThem] = [(await mine.workers())[0]!, (await theirs.workers())[0]!];
  expect(seenByMe).toMatchObject({ busy: 1, holds: [session.id], hasRoom: false });
  expect(seenByThem).toMatchObject({ busy: 0, holds: [], hasRoom: false });
  for (const seen of [seenByMe, seenByThem]) {
    expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(['machine']));
    expect(Object.keys(seen)).not.toEqual(expect.arrayContaining(['process']));
  }
  calls[0]!.end();
  await run.waitForEnd();
  await worker.stop();
});

/** Starts two runtimes and a worker of the first one, which is in the middle of a call. */
const atWork = async () => {
  const { agent, open, calls, begun } = newCluster();
  const [first, second] = [await open(), await open()];
  const session = await first.sessions.open({ agent });
  const worker = first.worker();
  await worker.start();
  const run = await session.send('look');
  await begun;
  return { agent, calls, first, second, worker, session, run };
};

test.each([undefined, 2 ** 31])(
  '[WORKER3] a worker that drains for at most %s ms claims nothing, finishes the current step and releases the run',
  async (forMs) => {
    const { agent, calls, first, second, worker, session, run } = await atWork();
    const drained = worker.drain({ forMs });
    await expect.poll(async () => (await second.workers())[0]?.status).toBe('draining');
    const later = await (await first.sessions.open({ agent })).send('Go');
    await second.worker().start();
    await later.waitForEnd();
    expect(calls[0]!.signal.aborted).toBe(false);
    calls[0]!.end();
    await drained;
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Done.' });
    expect(calls).toHaveLength(1);
    expect(await typesOf(session)).not.toContain('tool.failed');
  },
);

test('[WORKER3] a step that takes too long is abandoned, and runs again elsewhere', async () => {
  const { calls, second, worker, run } = await atWork();
  await worker.drain({ forMs: 20 });
  expect(calls[0]!.signal.aborted).toBe(true);
  await second.worker().start();
  await expect.poll(() => calls.length).toBe(2);
  calls[1]!.end();
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(calls[1]!.attempt).toBe(2);
});

test('[WORKER4] a worker whose heartbeats fail releases its sessions before their leases lapse', async () => {
  const { agent, open, calls, begun, warnings } = newCluster();
  let isCut = false;
  const cut = await open((store) => ({
    touch: (...asked) =>
      isCut ? Promise.reject(new PerdureError('STORE_UNAVAILABLE', 'cut off')) : store.touch(...asked),
    release: (...asked) =>
      isCut ? Promise.reject(new PerdureError('STORE_UNAVAILABLE', 'cut off')) : store.release(...asked),
  }));
  const session = await cut.sessions.open({ agent });
  await cut.worker({ leaseMs: 600 }).start();
  const run = await session.send('look');
  await begun;
  isCut = true;
  await expect.poll(() => calls[0]!.signal.aborted, { timeout: 5000 }).toBe(true);
  expect(calls[0]!.signal.reason).toMatchObject({ message: expect.stringContaining('unreachable') });
  expect(warnings).toContainEqual(expect.objectContaining({ code: 'STORE_UNAVAILABLE' }));
  await (await open()).worker({ pollMs: 20 }).start();
  await expect.poll(() => calls.length, { timeout: 5000 }).toBe(2);
  calls[1]!.end();
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[WORKER2] a heartbeat in flight does not outlive its worker', async () => {
  const { open } = newCluster();
  const runtime = await open((store) => ({
    touch: async (...asked) => {
      await sleep(50);
      return store.touch(...asked);
    },
  }));
  const worker = runtime.worker();
  await worker.runUntilIdle();
  await worker.drain();
  const other = runtime.worker({ leaseMs: 100 });
  await other.start();
  await sleep(200);
  await other.drain();
  await sleep(100);
  expect(await runtime.workers()).toEqual([]);
});

test('[RUN19] a worker that runs until idle also claims the runs of a dead process on this machine', async () => {
  const { agent, open, begun } = newCluster();
  const dead = spawnSync(process.execPath, ['-e', '']);
  const first = await open((store) => ({
    claim: (claim) => store.claim({ ...claim, holder: { ...claim.holder, process: dead.pid, processStart: 'gone' } }),
    release: () => Promise.reject(new PerdureError('STORE_UNAVAILABLE', 'it is dead')),
    leave: async () => {},
  }));
  const session = await first.sessions.open({ agent });
  const run = await session.send('look');
  const worker = first.worker();
  await worker.start();
  await begun;
  void worker.stop();
  const second = await open();
  await (await second.sessions.get(session.id)).cancel(run.id);
  const next = await session.send('Go');
  await second.worker().runUntilIdle();
  expect(await next.status()).toMatchObject({ status: 'succeeded' });
});

test('[WORKER5] runUntilIdle gives up on a store that fails for too long, and says why', async () => {
  const { open } = newCluster();
  const gone = new PerdureError('STORE_UNAVAILABLE', 'the file is gone');
  const runtime = await open(() => ({ claim: () => Promise.reject(gone) }));
  await expect(runtime.worker({ patienceMs: 30, pollMs: 5 }).runUntilIdle()).rejects.toBe(gone);
});

test('[WORKER16] a worker can run until idle repeatedly', async () => {
  const { agent, open } = newCluster();
  const runtime = await open();
  const session = await runtime.sessions.open({ agent });
  const worker = runtime.worker();
  for (const text of ['One', 'Two', 'Three']) {
    const run = await session.send(text);
    await worker.runUntilIdle();
    expect(await run.status()).toMatchObject({ status: 'succeeded' });
    expect(await runtime.workers()).toEqual([]);
  }
  await worker.start();
  expect(worker.state()).toMatchObject({ isEnding: false });
  expect(await (await session.send('Four')).waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test.each(['stop', 'drain'] as const)(
  '[WORKER16] after a %s, starting work is rejected with what to do',
  async (end) => {
    const { open } = newCluster();
    const worker = (await open()).worker();
    await worker.start();
    await worker[end]();
    const refusal = { code: 'RUNTIME_CLOSED', message: expect.stringContaining('runtime.worker()') };
    await expect(worker.start()).rejects.toMatchObject(refusal);
    await expect(worker.runUntilIdle()).rejects.toMatchObject(refusal);
  },
);

test('[WORKER16] an idle worker does not start again after its runtime closed', async () => {
  const { open } = newCluster();
  const runtime = await open();
  const worker = runtime.worker();
  await worker.runUntilIdle();
  await runtime.close();
  await expect(worker.runUntilIdle()).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
});

test('[WORKER16, WORKER22] a runtime keeps no reference to ended workers and dispatchers', async () => {
  const { line, ended } = runScript(`
    import { setImmediate as turn } from 'node:timers/promises';
    import { setFlagsFromString } from 'node:v8';
    import { runInNewContext } from 'node:vm';
    import { openRuntime } from ${moduleUrl('src/index.ts')};
    import { openMemoryStore } from ${moduleUrl('src/testing/memory-store.ts')};
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc');
    const runtime = await openRuntime({ store: openMemoryStore() });
    const made = { workers: [], idlers: [], dispatchers: [] };
    const noted = (kind, each) => {
      made[kind].push(new WeakRef(each));
      return each;
    };
    for (let count = 0; count < 20; count++) {
      await noted('workers', runtime.worker()).runUntilIdle();
      noted('idlers', runtime.worker());
      const dispatcher = noted('dispatchers', runtime.dispatcher());
      dispatcher.start();
      await dispatcher.stop();
    }
    for (let count = 0; count < 10; count++) {
      await turn();
      gc();
    }
    console.log(Object.entries(made).flatMap(([kind, all]) => (all.filter((each) => each.deref()).length > 5 ? kind : [])).join());
    await runtime.close();
  `);
  expect(await line()).toBe('');
  expect(await ended).toMatchObject({ code: 0 });
});

test('[WORKER6] a scheduled input begins at its time, and delays no other input', async () => {
  const { agent, open } = newCluster();
  const runtime = await open();
  const session = await runtime.sessions.open({ agent });
  const soon = Date.now() + 400;
  const later = await session.send('Later', { notBefore: new Date(soon) });
  const now = await session.send('Now');
  await runtime.worker().start();
  expect(await now.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(await later.status()).toMatchObject({ status: 'running' });
  expect(await later.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(Date.now()).toBeGreaterThanOrEqual(soon);
  await expect(session.send('x', { notBefore: soon, policy: 'steer' })).rejects.toMatchObject({
    code: 'INVALID_INPUT',
  });
});

test('[WORKER7, RUN11] a long wait for a model holds no worker, and any worker continues afterwards', async () => {
  let isLimited = true;
  const answers = scriptedModel(script);
  const model: Model = {
    ...answers,
    answer: async (...asked) => {
      if (isLimited) throw new ModelFailure('rate-limit', 'slow down', { retryAfterMs: 60_000 });
      return answers.answer(...asked);
    },
  };
  const { agent, open } = newCluster(model);
  const began = Date.now();
  const first = await open(undefined, { clock: { now: () => began } });
  const session = await first.sessions.open({ agent });
  const run = await session.send('Go');
  await first.worker().runUntilIdle();
  expect(await run.status()).toMatchObject({ status: 'running' });
  const waiting = (await Array.fromAsync(session.events())).find(({ type }) => type === 'run.waiting');
  expect(waiting?.payload).toMatchObject({ for: 'model', until: began + 60_000 });
  isLimited = false;
  const second = await open(undefined, { clock: { now: () => began + 60_001 } });
  await second.worker().start();
  await first.sessions.get(session.id).then((again) => again.limit({ turns: 100 })); // triggers a check before the wait is over
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(await typesOf(session)).toContain('run.resumed');
});

test('[WORKER8] a session that could not be released is released when the store is back', async () => {
  const { agent, open } = newCluster();
  let failures = 2;
  const runtime = await open((store) => ({
    finish: (...asked) => {
      if (failures-- > 0) return Promise.reject(new PerdureError('STORE_UNAVAILABLE', 'away'));
      return store.finish(...asked);
    },
  }));
  const session = await runtime.sessions.open({ agent });
  await session.send('Go');
  await runtime.worker().runUntilIdle();
  expect(failures).toBeLessThan(0);
  expect(await runtime.workers()).toEqual([]);
});

test('[WORKER9] sessions of higher priority are claimed first', async () => {
  const { agent, open } = newCluster();
  const runtime = await open();
  const order: string[] = [];
  const sent = [];
  for (const priority of ['low', 'normal', 'high'] as const) {
    const session = await runtime.sessions.open({ agent, priority: priority === 'normal' ? undefined : priority });
    const run = await session.send('Go');
    sent.push(run.waitForEnd().then(() => order.push(priority)));
  }
  await runtime.worker({ concurrency: 1 }).start();
  await Promise.all(sent);
  expect(order).toEqual(['high', 'normal', 'low']);
});

test('[WORKER10] limits apply to all workers together', async () => {
  const { agent, open, calls } = newCluster();
  const runtimes = [await open(), await open()];
  const limits = { perWorkspace: 2, perAgent: { 'coder@1': 3 } };
  for (const runtime of runtimes) await runtime.worker({ limits, pollMs: 20 }).start();
  const sessions = await Promise.all(
    [runtimes[0]!, runtimes[0]!.as(acme)].flatMap((runtime) => [1, 2, 3].map(() => runtime.sessions.open({ agent }))),
  );
  const runs = await Promise.all(sessions.map((session) => session.send('look')));
  await expect.poll(() => calls.length).toBe(3);
  await sleep(100);
  expect(calls).toHaveLength(3);
  const busiest = async () =>
    Math.max(
      ...(await Promise.all(runtimes.map((each) => each.workers()))).map(
        (all) => all.flatMap(({ holds }) => holds).length,
      ),
    );
  expect(await busiest()).toBeLessThanOrEqual(2);
  for (let ended = 0; ended < 6; ended++) {
    await expect.poll(() => calls.length).toBeGreaterThan(ended);
    calls[ended]!.end();
  }
  for (const run of runs) expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[WORKER12] when the answer to a claim is lost, the same worker still works on the claimed sessions', async () => {
  const { agent, open } = newCluster();
  let losses = 1;
  const runtime = await open((store) => ({
    claim: async (claim) => {
      const claimed = await store.claim(claim);
      if (claimed.taken.length === 0 || losses-- <= 0) return claimed;
      throw new PerdureError('STORE_UNAVAILABLE', 'the connection was lost');
    },
  }));
  const run = await (await runtime.sessions.open({ agent })).send('Go');
  await runtime.worker().runUntilIdle();
  expect(await run.status()).toMatchObject({ status: 'succeeded' });
});

test('[WORKER12, WORKER20] a session claimed again before its release was answered stays with the worker', async () => {
  const { agent, open, calls, begun } = newCluster(scriptedModel(again));
  const answered = Promise.withResolvers<void>();
  let isFirst = true;
  const runtime = await open((store) => ({
    finish: async (...asked) => {
      await store.finish(...asked);
      if (isFirst) {
        isFirst = false;
        await answered.promise;
      }
    },
  }));
  const session = await runtime.sessions.open({ agent });
  const worker = runtime.worker();
  await worker.start();
  await (await session.send('Go')).waitForEnd();
  await expect.poll(() => isFirst).toBe(false);
  const run = await session.send('look');
  await expect.poll(async () => (await runtime.workers())[0]?.busy).toBe(1);
  answered.resolve();
  await begun;
  expect(worker.state().holds).toBe(1);
  calls[0]!.end();
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

/** An agent that delegates a task to this many helpers at the same time. */
const newBoss = (tools: Tool[], helpers = 1) => {
  const helper = defineAgent({ name: 'helper', version: 1, model: scriptedModel(script), tools });
  const calls = Array.from({ length: helpers }, () => ({ tool: 'helper', input: { task: 'look' } }));
  const model = scriptedModel(defineScript({ name: 'boss', steps: [{ calls }, { text: 'Thanks.' }] }));
  return { helper, boss: defineAgent({ name: 'boss', version: 1, model, tools: [subagent(helper)] }) };
};

test('[WORKER10, WORKER19] a session that waits for a subagent gives its place in the limits to the subagent', async () => {
  const { look, calls } = newCalls();
  const { boss, helper } = newBoss([look], 2);
  const { open } = newCluster();
  const runtime = await open(undefined, { agents: [boss, helper] });
  const session = await runtime.sessions.open({ agent: boss });
  const run = await session.send('Go');
  await runtime.worker({ limits: { perWorkspace: 1 }, pollMs: 20 }).start();
  await expect.poll(() => calls.length).toBe(1);
  await sleep(100);
  expect(calls).toHaveLength(1);
  calls[0]!.end();
  await expect.poll(() => calls.length).toBe(2);
  calls[1]!.end();
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[WORKER10, WORKER19] a subagent that is waited for runs before older sessions', async () => {
  const { look, calls } = newCalls();
  const { boss, helper } = newBoss([look]);
  const { open } = newCluster();
  const runtime = await open(undefined, { agents: [boss, helper] });
  for (let i = 0; i < 5; i++) await (await runtime.sessions.open({ agent: boss })).send('Go');
  const worker = runtime.worker({ concurrency: 1, pollMs: 20 });
  await worker.start();
  await expect.poll(() => calls.length).toBe(1);
  await sleep(100);
  expect(worker.state().holds).toBe(2);
});

test('[WORKER3] a call that waits for a subagent does not delay draining', async () => {
  const { look, calls, begun } = newCalls();
  const { boss, helper } = newBoss([look]);
  const { open } = newCluster();
  const [first, second] = [
    await open(undefined, { agents: [boss, helper] }),
    await open(undefined, { agents: [boss, helper] }),
  ];
  const run = await (await first.sessions.open({ agent: boss })).send('Go');
  const worker = first.worker();
  await worker.start();
  await begun;
  const began = performance.now();
  const drained = worker.drain({ forMs: 5000 });
  calls[0]!.end();
  await drained;
  expect(performance.now() - began).toBeLessThan(3000);
  await second.worker().start();
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(calls).toHaveLength(1);
});

test('[WORKER7] a pausing session whose model retry is far off pauses immediately', async () => {
  const asked = Promise.withResolvers<void>();
  const mayFail = Promise.withResolvers<void>();
  const model: Model = {
    ...scriptedModel(script),
    answer: async () => {
      asked.resolve();
      await mayFail.promise;
      throw new ModelFailure('rate-limit', 'slow down', { retryAfterMs: 60_000 });
    },
  };
  const { agent, open } = newCluster(model);
  const runtime = await open();
  const session = await runtime.sessions.open({ agent });
  await runtime.worker().start();
  await session.send('Go');
  await asked.promise;
  const paused = session.pause();
  await expect.poll(() => typesOf(session)).toContain('session.pausing');
  mayFail.resolve();
  await paused;
  await expect.poll(() => typesOf(session), { timeout: 5000 }).toContain('session.paused');
});

test('[WORKER4] a worker releases a session as soon as two thirds of its lease have passed without renewal', async () => {
  const { agent, open, calls, begun } = newCluster();
  let isCut = false;
  const cut = await open((store) => ({
    touch: (...asked) =>
      isCut ? Promise.reject(new PerdureError('STORE_UNAVAILABLE', 'cut off')) : store.touch(...asked),
  }));
  const session = await cut.sessions.open({ agent });
  const leaseMs = 3000;
  await cut.worker({ leaseMs }).start();
  await expect.poll(async () => (await cut.workers()).length).toBe(1);
  const claimedAt = performance.now();
  await session.send('look');
  await begun;
  isCut = true;
  await expect.poll(() => calls[0]!.signal.aborted, { timeout: 5000, interval: 10 }).toBe(true);
  expect(performance.now() - claimedAt).toBeLessThan(0.9 * leaseMs);
});

test('[WORKER13] a session reserved for a worker that does not claim it is claimed before the next poll', async () => {
  const { agent, open } = newCluster();
  let leftUntil = 0;
  const runtime = await open((store) => ({
    claim: (claim) =>
      performance.now() < leftUntil ? Promise.resolve({ taken: [], neighbours: [] }) : store.claim(claim),
  }));
  const session = await runtime.sessions.open({ agent });
  await runtime.worker({ pollMs: 60_000 }).start();
  await sleep(600);
  leftUntil = performance.now() + preferMs;
  const run = await session.send('Go');
  expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[WORKER15] a worker that repeatedly finds nothing skips hints, but still claims later work', async () => {
  const { agent, open } = newCluster();
  let looks = 0;
  let hint = (): void => undefined;
  const runtime = await open((store) => ({
    claim: (claim) => {
      looks += 1;
      return store.claim(claim);
    },
    watchWork: (workspace, wake) => {
      hint = wake;
      return store.watchWork(workspace, wake);
    },
  }));
  await runtime.worker({ pollMs: 60_000 }).start();
  const began = performance.now();
  for (let hints = 0; hints < 500; hints++) {
    hint();
    await sleep(1);
  }
  const [first, perMs] = [20, 1 / 50];
  expect(looks).toBeLessThan(first + perMs * (performance.now() - began));
  const session = await runtime.sessions.open({ agent });
  expect(await (await session.send('Go')).waitForEnd()).toMatchObject({ status: 'succeeded' });
});

test('[WORKER3] a model that never answers and ignores aborts does not block stopping', async () => {
  const asked = Promise.withResolvers<void>();
  const model: Model = {
    ...scriptedModel(script),
    answer: () => {
      asked.resolve();
      return new Promise(() => {});
    },
  };
  const { agent, open } = newCluster(model);
  const runtime = await open();
  const worker = runtime.worker();
  await worker.start();
  await (await runtime.sessions.open({ agent })).send('Go');
  await asked.promise;
  await worker.drain({ forMs: 20 });
  expect(worker.state().holds).toBe(0);
});

test('[WORKER6] a scheduled input does not cause an immediate input to be rejected', async () => {
  const { agent, open } = newCluster();
  const session = await (await open()).sessions.open({ agent });
  await session.send('Later', { notBefore: Date.now() + 3_600_000 });
  await session.send('Now', { policy: 'reject' });
  await expect(session.send('Now too', { policy: 'reject' })).rejects.toMatchObject({ code: 'SESSION_BUSY' });
});

test('[WORKER5] starting a worker fails if its data folder cannot be created', async () => {
  const { open } = newCluster();
  const file = join(await mkdtemp(join(tmpdir(), 'perdure-')), 'no-folder');
  await writeFile(file, '');
  undo.push(() => rm(dirname(file), { recursive: true }));
  const worker = (await open(undefined, { data: file })).worker();
  await expect(worker.start()).rejects.toMatchObject({ code: 'FILE_UNAVAILABLE' });
  await worker.stop();
});
