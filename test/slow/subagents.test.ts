import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Store } from '../../src/core/ports/store.ts';
import type { Tool } from '../../src/core/ports/tool.ts';
import { defineAgent, defineScript, defineTool, openRuntime, PerdureError } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { askTool, subagent } from '../../src/tools/index.ts';
import { stuckTool } from '../support/runs/stuck-tool.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const guarded = defineTool({ name: 'guarded', input: z.object({}), approval: true, execute: () => 'done' });

type MemoryStore = ReturnType<typeof openMemoryStore>;

const helperTokens = 100_000;

describe.each(storeKinds)('subagents on %s', (kind) => {
  const start = async (childSteps: Parameters<typeof defineScript>[0]['steps']) => {
    const place = await newStorePlace(kind);
    undo.push(place.remove);
    const helper = defineAgent({
      name: 'helper',
      version: 1,
      model: defineScript({ name: 'helper', steps: childSteps }),
      tools: [stuckTool, guarded, askTool],
      settings: { maxOutputTokens: 20_000 },
      policies: { budget: { tokens: helperTokens } },
    });
    const boss = defineAgent({
      name: 'boss',
      version: 1,
      model: defineScript({
        name: 'boss',
        steps: [{ calls: [{ tool: 'helper', input: { task: 'Look it up' } }] }, { text: 'Thanks.' }],
      }),
      tools: [subagent(helper)],
    });
    const open = async () => {
      const runtime = await openRuntime({ store: place.address, agents: [boss, helper], worker: false });
      undo.push(() => runtime.close());
      return runtime;
    };
    const runtime = await open();
    return { runtime, open, session: await runtime.sessions.open({ agent: boss, budget: { tokens: 200_000 } }) };
  };
  const childOf = async ({ runtime, session }: Awaited<ReturnType<typeof start>>) => {
    const opened = (await Array.fromAsync(session.events())).find(({ type }) => type === 'child.opened');
    return opened?.type === 'child.opened' ? runtime.sessions.get(opened.payload.session) : undefined;
  };

  test('[SUB1, SUB7] a subagent works in its own session, its usage is charged to the parent, and both use one worker slot', async () => {
    const started = await start([{ text: 'Here it is.' }]);
    await started.runtime.worker({ concurrency: 1, session: started.session.id }).start();
    const result = await (await started.session.send('Go')).result();
    expect(result).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    const child = (await childOf(started))!;
    expect((await child.transcript()).entries.map(({ message }) => message.role)).toEqual(['user', 'assistant']);
    expect(await child.summary()).toMatchObject({ calledBy: { session: started.session.id } });
    const calls = (await started.session.toolCalls()).calls;
    expect(calls[0]).toMatchObject({ tool: 'helper', status: 'ok' });
    const events = await Array.fromAsync(started.session.events());
    expect(events.filter(({ type }) => type === 'child.ended')).toHaveLength(1);
  });

  test("[SUB7] a child that waits for budget continues when its parent's budget is raised, within its own limit", async () => {
    const started = await start([{ text: 'Here it is.' }]);
    await started.runtime.worker().start();
    await started.session.limit({ tokens: 400 });
    const run = await started.session.send('Go');
    await expect
      .poll(async () => (await (await childOf(started))?.summary())?.waiting, { timeout: 10_000 })
      .toBe('budget');
    await started.session.limit({ tokens: 200_000 });
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    const limits = (await Array.fromAsync((await childOf(started))!.events())).flatMap((event) =>
      event.type === 'budget.set' ? [event.payload.limits.tokens] : [],
    );
    expect(limits[0]).toBeLessThan(400);
    expect(limits.slice(1)).toEqual([helperTokens]);
  });

  test('[SUB2, SUB8] cancelling the parent ends its children', async () => {
    const started = await start([{ calls: [{ tool: 'stuck', input: {} }] }, { text: 'never' }]);
    await started.runtime.worker().start();
    const run = await started.session.send('Go');
    await expect
      .poll(async () => (await (await childOf(started))?.toolCalls())?.calls.length, { timeout: 10_000 })
      .toBe(1);
    await run.cancel();
    expect(await run.result()).toMatchObject({ status: 'cancelled' });
    const events = await Array.fromAsync((await childOf(started))!.events());
    expect(events.findLast(({ type }) => type === 'run.ended')).toMatchObject({ payload: { status: 'cancelled' } });
  });

  test('[SUB3] the parent shows that its child waits, for what and in which session', async () => {
    const started = await start([{ calls: [{ tool: 'guarded', input: {} }] }, { text: 'Found.' }]);
    const { session, runtime } = started;
    await runtime.worker().start();
    const run = await session.send('Go');
    const waiting = await run.result();
    const child = (await childOf(started))!;
    expect(waiting).toMatchObject({ status: 'waiting', waitingFor: 'approval', waitsIn: child.id });
    expect(await session.summary()).toMatchObject({ waiting: 'approval' });
    const [approval, ...more] = await runtime.approvals.list();
    expect([approval!.session, more]).toEqual([child.id, []]);
    await runtime.approvals.approve(approval!.id);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    expect(await session.summary()).not.toHaveProperty('waiting');
  });

  test("[SUB3] when a parent's worker dies while its child waits, another worker continues the parent", async () => {
    const started = await start([{ calls: [{ tool: 'guarded', input: {} }] }, { text: 'Found.' }]);
    const first = started.runtime.worker();
    await first.start();
    const run = await started.session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting' });
    await first.stop();
    const elsewhere = await started.open();
    const [approval] = await elsewhere.approvals.list();
    await elsewhere.approvals.approve(approval!.id);
    await elsewhere.worker({ session: started.session.id }).start();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    const used = (await Array.fromAsync(started.session.events())).filter(({ type }) => type === 'child.ended');
    expect(used).toHaveLength(1);
  });

  test('[SUB4] a parent whose child waits for a person holds no worker, and continues when the child has ended', async () => {
    const started = await start([{ calls: [{ tool: 'guarded', input: {} }] }, { text: 'Found.' }]);
    const { session, runtime } = started;
    const run = await session.send('Go');
    await runtime.worker({ concurrency: 1, session: session.id }).runUntilIdle();
    const child = (await childOf(started))!;
    const waiting = { status: 'waiting', waitingFor: 'approval', waitsIn: child.id };
    expect(await run.result()).toMatchObject(waiting);
    const parent = await Array.fromAsync(session.events());
    expect(parent.at(-1)).toMatchObject({ type: 'run.waiting', payload: { for: 'approval', session: child.id } });
    const elsewhere = await started.open();
    await elsewhere.worker({ session: session.id }).runUntilIdle();
    expect((await session.summary()).seq).toBe(parent.length);
    await elsewhere.approvals.approve((await elsewhere.approvals.list())[0]!.id);
    await elsewhere.worker({ concurrency: 1, session: session.id }).runUntilIdle();
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'helper', status: 'ok' }]);
    const after = (await Array.fromAsync(session.events({ after: parent.length }))).map(({ type }) => type);
    expect(after.slice(0, 3)).toEqual(['child.resumed', 'run.resumed', 'tool.retried']);
    expect(after.filter((type) => type === 'child.ended')).toHaveLength(1);
  });

  test('[SUB4, SUB3] a parent shows what its child waits for next', async () => {
    const started = await start([
      { calls: [{ tool: 'guarded', input: {} }] },
      { calls: [{ tool: 'ask', input: { question: 'Which?' } }] },
      { text: 'Found.' },
    ]);
    const { session, runtime } = started;
    const run = await session.send('Go');
    await runtime.worker().runUntilIdle();
    expect(await run.result()).toMatchObject({ waitingFor: 'approval' });
    await runtime.approvals.approve((await runtime.approvals.list())[0]!.id);
    await runtime.worker().runUntilIdle();
    const child = (await childOf(started))!;
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'question', waitsIn: child.id });
    expect(await session.summary()).toMatchObject({ waiting: 'question' });
    const asked = (await Array.fromAsync(child.events())).find(({ type }) => type === 'question.asked');
    await child.answer(asked?.type === 'question.asked' ? asked.payload.callId : '', 'That one');
    await runtime.worker().runUntilIdle();
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
  });

  test('[SUB4] a waiting parent continues when its child is cancelled', async () => {
    const started = await start([{ calls: [{ tool: 'guarded', input: {} }] }, { text: 'Found.' }]);
    const run = await started.session.send('Go');
    await started.runtime.worker().runUntilIdle();
    await (await childOf(started))!.cancel();
    await started.runtime.worker().runUntilIdle();
    expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    expect((await started.session.toolCalls()).calls).toMatchObject([{ tool: 'helper', status: 'threw' }]);
  });

  test('[SUB1, RUN6] after a takeover the new worker waits for the same child', async () => {
    const started = await start([{ calls: [{ tool: 'stuck', input: {} }] }, { text: 'Found.' }]);
    const first = started.runtime.worker();
    await first.start();
    const run = await started.session.send('Go');
    await expect
      .poll(async () => (await (await childOf(started))?.toolCalls())?.calls.length, { timeout: 10_000 })
      .toBe(1);
    await first.stop();
    await (await started.open()).worker().start();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Thanks.' });
    const opened = (await Array.fromAsync(started.session.events())).filter(({ type }) => type === 'child.opened');
    expect(opened).toHaveLength(1);
  });
});

test('[SUB2] a child that has not started when its parent is cancelled never starts', async () => {
  const [asking, cancelled] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const database = newMemoryDatabase();
  const store = openMemoryStore(database);
  const parents = new Set<string>();
  const late = overrideStore(store, {
    append: async (request) => {
      const isAsked = request.events.some(({ type }) => type === 'input.admitted');
      if (isAsked && !parents.has(request.session)) {
        asking.resolve();
        await cancelled.promise;
      }
      return store.append(request);
    },
  });
  const helper = defineAgent({
    name: 'helper',
    version: 1,
    model: defineScript({ name: 'helper', steps: [{ text: 'never' }] }),
  });
  const boss = defineAgent({
    name: 'boss',
    version: 1,
    model: defineScript({
      name: 'boss',
      steps: [{ calls: [{ tool: 'helper', input: { task: 'Look' } }] }],
    }),
    tools: [subagent(helper)],
  });
  const runtime = await openRuntime({ store: late, agents: [boss, helper], worker: false });
  const session = await runtime.sessions.open({ agent: boss });
  parents.add(session.id);
  await runtime.worker().start();
  const run = await session.send('Go');
  await asking.promise;
  const elsewhere = await openRuntime({
    store: openMemoryStore(database),
    agents: [boss, helper],
    worker: false,
  });
  await (await elsewhere.sessions.get(session.id)).cancel(run.id);
  cancelled.resolve();
  await elsewhere.worker().runUntilIdle();
  await elsewhere.close();
  const { sessions } = await runtime.sessions.list();
  const child = await runtime.sessions.get(sessions.find(({ id }) => id !== session.id)!.id);
  expect(await child.summary()).toMatchObject({ status: 'closed', messages: 0 });
  await runtime.close();
});

/** A parent whose child follows the script, on an in-memory store that any number of runtimes can open. */
const family = async (
  childStep: object,
  about: Parameters<typeof subagent>[1] = {},
  tools: readonly Tool[] = [stuckTool, guarded],
) => {
  const database = newMemoryDatabase();
  const helper = defineAgent({
    name: 'helper',
    version: 1,
    model: defineScript({ name: 'helper', steps: [childStep, { text: 'Found.' }] }),
    tools,
  });
  const boss = defineAgent({
    name: 'boss',
    version: 1,
    model: defineScript({
      name: 'boss',
      steps: [{ calls: [{ tool: 'helper', input: { task: 'Look' } }] }, { text: 'Well.' }],
    }),
    tools: [subagent(helper, about)],
  });
  const open = async (methods: (store: MemoryStore) => Partial<MemoryStore> = () => ({})) => {
    const store = openMemoryStore(database);
    const runtime = await openRuntime({
      store: overrideStore(store, methods(store)),
      agents: [boss, helper],
      worker: false,
      onWarning: () => undefined,
    });
    undo.push(() => runtime.close());
    return runtime;
  };
  const runtime = await open();
  const session = await runtime.sessions.open({ agent: boss });
  const childId = async () => (await runtime.sessions.list()).sessions.find(({ id }) => id !== session.id)?.id;
  /** The store of a process that dies immediately after it has ended the parent's run. */
  const dying = (store: Store): Partial<Store> => {
    let isDead = false;
    return {
      append: async (request) => {
        if (isDead) throw new Error('dead');
        const outcome = await store.append(request);
        isDead = request.events.some(({ type }) => type === 'run.ended');
        return outcome;
      },
    };
  };
  return { runtime, session, open, childId, dying };
};

test('[SUB2, SUB8] a working child ends even if the process that cancelled its parent died midway', async () => {
  const { runtime, session, open, childId, dying } = await family({ calls: [{ tool: 'stuck', input: {} }] });
  await runtime.worker().start();
  await session.send('Go');
  await expect
    .poll(
      async () => {
        const id = await childId();
        return id && (await (await runtime.sessions.get(id)).toolCalls()).calls.length;
      },
      { timeout: 10_000 },
    )
    .toBe(1);
  const canceller = await open(dying);
  await (await canceller.sessions.get(session.id)).cancel(); // its fact has landed before the process dies
  const child = await runtime.sessions.get((await childId())!);
  await expect.poll(async () => (await child.summary()).status, { timeout: 10_000 }).toBe('closed');
  const events = await Array.fromAsync(child.events());
  expect(events.findLast(({ type }) => type === 'run.ended')).toMatchObject({ payload: { status: 'cancelled' } });
  await expect
    .poll(async () => (await Array.fromAsync(session.events())).findLast(({ type }) => type === 'child.ended'), {
      timeout: 10_000,
    })
    .toMatchObject({ payload: { session: child.id, usage: { inputTokens: expect.any(Number) } } });
});

test('[SUB2] a waiting child ends even if the process that cancelled its parent died midway', async () => {
  const { runtime, session, open, childId, dying } = await family({ calls: [{ tool: 'guarded', input: {} }] });
  const worker = runtime.worker();
  await worker.start();
  const run = await session.send('Go');
  await run.result();
  await session.handoff({ to: 'human' });
  await worker.stop();
  const canceller = await open(dying);
  await (await canceller.sessions.get(session.id)).cancel(); // its fact has landed before the process dies
  expect(await runtime.approvals.list()).toHaveLength(1);
  await (await open()).worker().runUntilIdle();
  expect(await runtime.approvals.list()).toEqual([]);
  expect(await (await runtime.sessions.get((await childId())!)).summary()).toMatchObject({ status: 'closed' });
});

test("[SUB2, SUB8] a call that times out ends its child, and the child's usage is charged to the parent", async () => {
  const { runtime, session, childId } = await family({ calls: [{ tool: 'stuck', input: {} }] }, { timeoutMs: 300 });
  await runtime.worker().start();
  expect(await (await session.send('Go')).waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Well.' });
  expect((await session.toolCalls()).calls[0]).toMatchObject({ tool: 'helper', status: 'timeout' });
  expect(await (await runtime.sessions.get((await childId())!)).summary()).toMatchObject({ status: 'closed' });
  const ends = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'child.ended');
  expect(ends).toHaveLength(1);
});

test("[SUB7] a child's usage is charged once, even if the worker dies before the call has its result", async () => {
  const { session, open } = await family({ text: 'Found.' });
  let hasFailed = false;
  const runtime = await open((store) => ({
    append: async (request) => {
      const isResult = request.session === session.id && request.events.some(({ type }) => type === 'tool.completed');
      if (!isResult || hasFailed) return store.append(request);
      hasFailed = true;
      throw new PerdureError('STORE_UNAVAILABLE', 'for a moment');
    },
  }));
  await runtime.worker().start();
  expect(await (await session.send('Go')).waitForEnd()).toMatchObject({ status: 'succeeded' });
  expect(hasFailed).toBe(true);
  const ends = (await Array.fromAsync(session.events())).filter(({ type }) => type === 'child.ended');
  expect(ends).toHaveLength(1);
});

/** The store of a process that dies after this many appends and reports its death. */
const dyingAfter =
  (appends: number, onDeath: () => void) =>
  (store: MemoryStore): Partial<MemoryStore> => {
    let left = appends;
    const alive = async <T>(work: () => Promise<T>): Promise<T> => {
      if (left > 0) return work();
      onDeath();
      throw new Error('dead');
    };
    return {
      append: (request) =>
        alive(async () => {
          const outcome = await store.append(request);
          left -= 1;
          return outcome;
        }),
      claim: (...asked) => alive(() => store.claim(...asked)),
      touch: (...asked) => alive(() => store.touch(...asked)),
      finish: (...asked) => alive(() => store.finish(...asked)),
      release: (...asked) => alive(() => store.release(...asked)),
      leave: (...asked) => alive(() => store.leave(...asked)),
    };
  };

const briefly = { leaseMs: 100, pollMs: 20 };

describe.each(['before it waits', 'after it was approved'])('a worker that dies %s', (when) => {
  test.each(Array.from({ length: 16 }, (_, index) => index + 1))(
    '[SUB4] after %i appends leaves a parent and a child that other workers finish',
    async (appends) => {
      const { runtime, session, open } = await family({ calls: [{ tool: 'guarded', input: {} }] });
      const run = await session.send('Go');
      const approve = async () => {
        await expect.poll(() => runtime.approvals.list(), { timeout: 10_000 }).toHaveLength(1);
        await runtime.approvals.approve((await runtime.approvals.list())[0]!.id);
      };
      if (when !== 'before it waits') {
        await runtime.worker().runUntilIdle();
        await approve();
      }
      const death = Promise.withResolvers<void>();
      const dying = (await open(dyingAfter(appends, death.resolve))).worker(briefly);
      await Promise.race([death.promise, dying.runUntilIdle()]);
      await dying.stop();
      await runtime.worker(briefly).start();
      if (when === 'before it waits') await approve();
      expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Well.' });
      const { messages } = await session.context();
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
      const types = (await Array.fromAsync(session.events())).map(({ type }) => type);
      expect(types.filter((type) => type === 'child.opened')).toHaveLength(1);
      expect(types.filter((type) => type === 'child.ended')).toHaveLength(1);
    },
  );
});

describe.each(['lives', 'dies then'])(
  'a child that ends just as a worker records that it waits, where the worker then %s',
  (fate) => {
    test('[SUB4] is not waited for', async () => {
      const { runtime, session, open, childId } = await family({ calls: [{ tool: 'guarded', input: {} }] });
      const recorded = Promise.withResolvers<void>();
      let isRecorded = false;
      const late = await open((store) => ({
        append: async (request) => {
          if (isRecorded && fate === 'dies then') throw new Error('dead');
          if (!isRecorded && request.events.some(({ type }) => type === 'child.waiting')) {
            await runtime.approvals.approve((await runtime.approvals.list())[0]!.id);
            const child = await runtime.sessions.get((await childId())!);
            const hasEnded = async () => {
              await runtime.worker({ ...briefly, session: child.id }).runUntilIdle();
              return (await Array.fromAsync(child.events())).some(({ type }) => type === 'run.ended');
            };
            await expect.poll(hasEnded, { timeout: 10_000 }).toBe(true);
            isRecorded = true;
            recorded.resolve();
          }
          return store.append(request);
        },
      }));
      const run = await session.send('Go');
      const worker = late.worker({ ...briefly, session: session.id });
      await worker.start();
      await recorded.promise;
      if (fate === 'dies then') await worker.stop();
      await runtime.worker(briefly).start();
      expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Well.' });
    });
  },
);

describe('a session that is stopped while its child works', () => {
  /** The child's call ends when the gate opens. */
  const gated = async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const wait = defineTool({
      name: 'wait',
      input: z.object({}),
      effects: 'none',
      execute: async (_, { signal, attempt }) => {
        begun.resolve();
        if (attempt > 1) return 'at last';
        const aborted = new Promise((_resolve, reject) =>
          signal.addEventListener('abort', () => reject(signal.reason)),
        );
        await Promise.race([gate.promise, aborted]);
        return 'through';
      },
    });
    const { runtime, session, childId, open } = await family({ calls: [{ tool: 'wait', input: {} }] }, {}, [wait]);
    const run = await session.send('Go');
    const toChild = async () => {
      await runtime.worker({ pollMs: briefly.pollMs }).start(); // with its usual lease, which a busy machine cannot end
      await begun.promise;
    };
    const childOf = async () => runtime.sessions.get((await childId())!);
    const statuses = async () => [(await session.summary()).status, (await (await childOf()).summary()).status];
    /** Pauses the session from another process and intercepts its first pause append. */
    const pauseElsewhere = async (onAppend: (append: () => Promise<unknown>) => Promise<void>) => {
      let isFirst = true;
      const elsewhere = await open((store) => ({
        append: async (request) => {
          const isPause = request.events.some(({ type }) => /^session\.paus/.test(type));
          if (isPause && isFirst) {
            isFirst = false;
            await onAppend(() => store.append(request));
          }
          return store.append(request);
        },
      }));
      await (await elsewhere.sessions.get(session.id)).pause();
    };
    return { session, run, statuses, toChild, childOf, pauseElsewhere, letThrough: () => gate.resolve() };
  };

  const atWork = async () => {
    const started = await gated();
    await started.toChild();
    return started;
  };

  test('[SUB6] can be paused again after the process that paused it died midway', async () => {
    const { session, statuses, letThrough, pauseElsewhere } = await atWork();
    const dying = pauseElsewhere(async (append) => {
      await append();
      throw new Error('dead');
    });
    await expect(dying).rejects.toThrow('dead');
    await session.pause();
    letThrough();
    await expect.poll(statuses, { timeout: 10_000 }).toEqual(['paused', 'paused']);
  });

  test('[SUB6] is paused together with a child that it opens during the pause', async () => {
    const { statuses, letThrough, pauseElsewhere, toChild } = await gated();
    await pauseElsewhere(toChild);
    expect(await statuses()).toEqual(['pausing', 'pausing']);
    letThrough();
    await expect.poll(statuses, { timeout: 10_000 }).toEqual(['paused', 'paused']);
  });

  test('[SUB6] is paused with its child at the next safe point, and both continue together', async () => {
    const { session, childOf, run, statuses, letThrough } = await atWork();
    await session.pause();
    expect(await statuses()).toEqual(['pausing', 'pausing']);
    letThrough();
    await expect.poll(statuses, { timeout: 10_000 }).toEqual(['paused', 'paused']);
    expect(await run.result()).toMatchObject({ status: 'paused' });
    const child = await childOf();
    expect((await child.toolCalls()).calls[0]).toMatchObject({ tool: 'wait', status: 'ok' });
    expect((await child.transcript()).entries.at(-1)).toMatchObject({ message: { role: 'tool' } });
    await session.resume();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Well.' });
    expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'helper', status: 'ok' }]);
  });

  test('[SUB6, RUN7] is interrupted with its child when the pause may not wait', async () => {
    const { session, run, statuses } = await atWork();
    await session.pause({ withinMs: 0 });
    expect(await statuses()).toEqual(['paused', 'paused']);
    await session.resume();
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Well.' });
  });

  test('[SUB6, RUN8] keeps its child at rest while the session is handed to a person', async () => {
    const { session, run, statuses, letThrough } = await atWork();
    await session.handoff({ to: 'human' });
    letThrough();
    await expect.poll(statuses, { timeout: 10_000 }).toEqual(['active', 'paused']);
    await session.handoff({ to: 'agent' });
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Well.' });
  });

  test('[SUB6] keeps its child at rest until both the pause and the handoff have ended, in either order', async () => {
    const { session, run, statuses } = await atWork();
    await session.pause({ withinMs: 0 });
    await session.handoff({ to: 'human' });
    await session.handoff({ to: 'agent' });
    expect(await statuses()).toEqual(['paused', 'paused']);
    await session.handoff({ to: 'human' });
    await session.resume();
    expect(await statuses()).toEqual(['active', 'paused']);
    await session.handoff({ to: 'agent' });
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded', output: 'Well.' });
  });
});

test('[SUB6, SUB4] a waiting child is paused with its parent, and a call approved during the pause runs after both resume', async () => {
  const { runtime, session, childId } = await family({ calls: [{ tool: 'guarded', input: {} }] });
  const run = await session.send('Go');
  await runtime.worker().runUntilIdle();
  await session.pause();
  await runtime.approvals.approve((await runtime.approvals.list())[0]!.id);
  await runtime.worker().runUntilIdle();
  const child = await runtime.sessions.get((await childId())!);
  expect((await child.toolCalls()).calls).toEqual([]);
  expect(await run.result()).toMatchObject({ status: 'paused' });
  await session.resume();
  await runtime.worker().runUntilIdle();
  expect(await run.result()).toMatchObject({ status: 'succeeded', output: 'Well.' });
});
