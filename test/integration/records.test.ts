import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import {
  type AgentDefinition,
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Script,
  type Session,
} from '../../src/index.ts';
import type { Json } from '../../src/schema/json.ts';
import { newWorkspace } from '../../src/testing/contract/contract-setup.ts';
import { handOffTool } from '../../src/tools/index.ts';
import { askTool } from '../support/runs/ask-tool.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const add = defineTool({
  name: 'add',
  input: z.object({ a: z.number(), b: z.number() }),
  effects: 'none',
  execute: ({ a, b }) => a + b,
});
const large = defineTool({
  name: 'large',
  input: z.object({ text: z.string() }),
  effects: 'none',
  execute: () => 'x'.repeat(20_000),
});
const refund = defineTool({
  name: 'refund',
  input: z.object({ order: z.string() }),
  effects: 'once',
  approval: true,
  execute: ({ order }) => `refunded ${order}`,
});
const plan = defineTool({
  name: 'plan',
  input: z.object({ done: z.number(), of: z.number() }),
  effects: 'none',
  change: (draft, { done, of }) => {
    for (let n = 0; n < of; n++) {
      draft.plan[`s${n}`] = { step: `step ${n}`, status: n < done ? 'done' : 'todo', order: n };
    }
  },
  execute: () => 'planned',
});

const call = (tool: string, input: Json = {}) => ({ calls: [{ tool, input }] });

describe.each(storeKinds)('records on %s', (kind) => {
  let place: StorePlace;
  let store: RuntimeStore;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    store = await openStoreAt(place.address);
  });
  afterAll(async () => {
    await store.close();
    await place.remove();
  });

  const start = async (steps: Script['steps'], more: Partial<AgentDefinition> = {}) => {
    const agent = defineAgent({
      name: 'tester',
      version: 3,
      model: defineScript({ name: 'test', steps }),
      tools: [add, large, refund, plan, askTool],
      ...more,
    });
    const whole = await openRuntime({
      store: overrideStore(store, { close: async () => undefined }),
      agents: [agent],
      worker: false,
      timing: { modelBackoffMs: 1 },
    });
    onTestFinished(() => whole.close());
    const runtime = whole.as({ workspace: newWorkspace(), member: 'local', role: 'admin' });
    const work = async () => {
      const worker = runtime.worker();
      await worker.runUntilIdle();
    };
    return { runtime, agent, work, session: await runtime.sessions.open({ agent }) };
  };

  const approvalOf = async ({ approvals }: { approvals: { list(): Promise<readonly { id: string }[]> } }) =>
    (await approvals.list())[0]!.id;

  const results = async (session: Session) =>
    (await session.transcript()).entries.flatMap(({ message }) => (message.role === 'tool' ? message.content : []));

  test('[VIEW1] a call that was refused before it ran is in the records, by its status, and never as running', async () => {
    const { runtime, session, work } = await start([
      call('nothing', { x: 1 }),
      call('add', { a: 'one' }),
      call('refund', { order: 'A1' }),
      { text: 'Sorry.' },
    ]);
    const run = await session.send('Go');
    await work();
    await session.deny(await approvalOf(runtime), { comment: 'paid back already' });
    await work();
    expect(await run.status()).toMatchObject({ status: 'succeeded' });
    const calls = (await session.toolCalls()).calls;
    expect(calls.map(({ tool, status }) => [tool, status])).toEqual([
      ['refund', 'denied'],
      ['add', 'invalid_input'],
      ['nothing', 'unknown_tool'],
    ]);
    expect(calls.every((each) => each.actor === 'agent:tester' && each.run === run.id && each.turn === 1)).toBe(true);
    for (const status of ['denied', 'invalid_input', 'unknown_tool'] as const)
      expect((await runtime.sessions.toolCalls({ status })).calls).toMatchObject([{ session: session.id, status }]);
    const began = await Array.fromAsync(session.events()).then((events) =>
      events.filter(({ type }) => type === 'tool.called'),
    );
    expect(began.map(({ payload }) => (payload as { ran?: boolean }).ran)).toEqual([false, false, false]);
    expect((await session.state()).toolsUsed.refund).toEqual({ calls: 1, ok: 0, failed: 1 });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[VIEW2] a query for inputs returns what went in and came out, cut where it is long, and says so', async () => {
    const { session, work } = await start([
      call('add', { a: 2, b: 3 }),
      call('add', { a: 'one' }),
      call('large', { text: 'y'.repeat(9000) }),
      { text: 'Done.' },
    ]);
    await session.send('Go');
    await work();
    const [cut, invalid, sum] = (await session.toolCalls({ input: true })).calls;
    expect(sum).toMatchObject({ input: { a: 2, b: 3 }, output: 5 });
    expect(sum).not.toHaveProperty('clipped');
    expect(invalid).toMatchObject({ input: { a: 'one' }, error: { name: 'InvalidInput' } });
    expect(cut).toMatchObject({ clipped: ['input', 'output'] });
    expect(cut!.output).toMatch(/^x{8000} \[… 12000 of 20000 characters left out; event \d+ has all of it\]$/);
    expect((await session.toolCalls()).calls[2]).not.toHaveProperty('input');
    await expect(session.toolCalls({ input: true, limit: 1001 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('[VIEW3] a result from a person, a recording or a reconcile says so, and the tool’s own result does not', async () => {
    const begun = Promise.withResolvers<void>();
    const mail = defineTool({
      name: 'mail',
      input: z.object({}),
      effects: 'once',
      execute: (_, { signal }) => {
        begun.resolve();
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
      reconcile: () => ({ outcome: 'ok', output: 'it was sent' }),
    });
    const { runtime, session, work } = await start(
      [call('ask'), call('add', { a: 1, b: 1 }), call('mail'), { text: 'Done.' }],
      {
        tools: [add, askTool, mail],
      },
    );
    const run = await session.send('Go');
    await work();
    await session.answer((await openCall(session))!, 'this one');
    const worker = runtime.worker();
    await worker.start();
    await begun.promise;
    await worker.stop();
    await work();
    expect(await run.status()).toMatchObject({ status: 'succeeded' });
    const [mailed, added, asked] = (await session.toolCalls({ input: true })).calls;
    expect(mailed).toMatchObject({ tool: 'mail', status: 'ok', source: 'reconcile', output: 'it was sent' });
    expect(added).not.toHaveProperty('source');
    expect(asked).toMatchObject({ tool: 'ask', status: 'ok', source: 'person', output: 'this one' });
    const replay = await session.replay({ turn: 1 });
    expect(replay.departures).toEqual([]);
    const again = (await (await runtime.sessions.get(replay.session)).toolCalls()).calls;
    expect(again.map(({ tool, source }) => [tool, source])).toEqual([
      ['mail', 'replay'],
      ['add', 'replay'],
      ['ask', 'replay'],
    ]);
  });

  test('[VIEW3, HAND7] the result of hand_off comes from a person', async () => {
    const { session, work } = await start([call('hand_off', { reason: 'sign it' }), { text: 'Done.' }], {
      tools: [handOffTool],
    });
    await session.send('Go');
    await work();
    await session.handoff({ to: 'agent' });
    await work();
    expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'hand_off', status: 'ok', source: 'person' }]);
  });

  test('[VIEW4] the model is told the comment of an approval with the result, and that of a denial as the result', async () => {
    const { runtime, session, work } = await start([
      call('refund', { order: 'A1' }),
      call('refund', { order: 'A2' }),
      { text: 'Done.' },
    ]);
    await session.send('Go');
    await work();
    await session.approve(await approvalOf(runtime), { comment: 'this once' });
    await work();
    await runtime.approvals.deny(await approvalOf(runtime), { comment: 'enough' });
    await work();
    expect((await results(session)).map(({ output }) => output)).toEqual([
      { output: 'refunded A1', comment: 'approved by member:local: this once' },
      'denied by member:local: enough',
    ]);
    const [denied, approved] = (await session.toolCalls()).calls;
    expect(denied).toMatchObject({ status: 'denied', source: 'person' });
    expect(approved).not.toHaveProperty('source');
    await expect(
      session.approve('apr_01jd3v8m9k5x7q2w4e6r8t0y1a', { comment: 'x'.repeat(2001) }),
    ).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
  });

  test('[VIEW5] a run is listed with its status, attempts, worker, agent, model, tools, use and duration', async () => {
    const { runtime, session, work } = await start([call('add', { a: 1, b: 1 }), { text: 'Two.' }]);
    const run = await session.send('What is 1 + 1?');
    expect((await session.runs()).runs).toMatchObject([{ run: run.id, status: 'queued', attempts: 0 }]);
    await work();
    const { runs, cursor } = await session.runs();
    expect(cursor).toBeUndefined();
    const { usage } = await run.status();
    expect(runs).toEqual([
      {
        run: run.id,
        session: session.id,
        seq: expect.any(Number),
        turn: 1,
        status: 'succeeded',
        by: 'member:local',
        input: 'What is 1 + 1?',
        attempts: 1,
        admittedAt: expect.any(Number),
        startedAt: expect.any(Number),
        endedAt: expect.any(Number),
        durationMs: expect.any(Number),
        activeMs: runs[0]!.durationMs,
        worker: expect.stringMatching(/^worker_/),
        machine: expect.stringMatching(/./),
        agent: { name: 'tester', version: 3 },
        model: 'scripted/test',
        tools: ['add', 'large', 'refund', 'plan', 'ask'],
        modelCalls: 2,
        usage,
      },
    ]);
    expect(await runtime.sessions.runs()).toEqual({ runs, damaged: [] });
    expect(await runtime.sessions.runs({ status: 'failed' })).toEqual({ runs: [], damaged: [] });
    expect((await session.runs({ since: runs[0]!.admittedAt + 1 })).runs).toEqual([]);
    expect((await session.runs({ until: runs[0]!.admittedAt - 1 })).runs).toEqual([]);
  });

  test('[VIEW6] a run says why it failed or what it waits for, and a takeover counts as another attempt', async () => {
    const begun = Promise.withResolvers<void>();
    const stuck = defineTool({
      name: 'stuck',
      input: z.object({}),
      effects: 'idempotent',
      execute: (_, { signal, attempt }) => {
        if (attempt > 1) return 'done';
        begun.resolve();
        return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
      },
    });
    const { runtime, session, work } = await start(
      [
        call('refund', { order: 'A1' }),
        { text: 'Denied.' },
        call('stuck'),
        { text: 'Done.' },
        call('add', { a: 1, b: 1 }),
        call('add', { a: 1, b: 2 }),
      ],
      { tools: [refund, stuck, add], policies: { maxSteps: 2 } },
    );
    await session.send('First');
    await work();
    expect((await session.runs()).runs).toMatchObject([
      { status: 'waiting', waitingFor: 'approval', reason: 'refund {"order":"A1"}' },
    ]);
    expect(await session.summary()).toMatchObject({ waiting: 'approval', waitingOn: 'refund {"order":"A1"}' });
    await session.deny(await approvalOf(runtime), { comment: 'no' });
    expect((await session.runs()).runs).toMatchObject([{ status: 'running' }]);
    await work();
    const second = await session.send('Second');
    const worker = runtime.worker();
    await worker.start();
    await begun.promise;
    await worker.stop();
    const first = (await session.runs({ limit: 1 })).runs[0]!;
    await work();
    const taken = (await session.runs({ limit: 1 })).runs[0]!;
    expect(taken).toMatchObject({ run: second.id, status: 'succeeded', attempts: 2, machine: first.machine });
    expect(taken.worker).not.toBe(first.worker);
    await session.send('Third');
    await work();
    const [failed] = (await session.runs()).runs;
    expect(failed).toMatchObject({ status: 'failed', error: { code: 'MAX_STEPS' } });
    expect(await session.summary()).toMatchObject({ failure: { run: failed!.run, code: 'MAX_STEPS' } });
    await session.send('Fourth');
    expect(await session.summary()).not.toHaveProperty('failure');
  });

  test('[VIEW7] pages list every run once, also one that worked while later inputs were admitted', async () => {
    const { runtime, agent, session, work } = await start(Array.from({ length: 12 }, () => ({ text: 'ok' })));
    const other = await runtime.sessions.open({ agent });
    const sent: string[] = [];
    for (let n = 0; n < 6; n++) {
      sent.unshift((await session.send(`a ${n}`)).id);
      sent.unshift((await other.send(`b ${n}`)).id);
    }
    await work();
    const pagesOf = async (
      read: (
        cursor: string | undefined,
      ) => Promise<{ runs: readonly { run: string; modelCalls: number }[]; cursor?: string }>,
    ) => {
      const found: { run: string; modelCalls: number }[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await read(cursor);
        expect(page.runs.length).toBeLessThanOrEqual(2);
        found.push(...page.runs);
        if (!page.cursor) return found;
        cursor = page.cursor;
      }
    };
    const own = await pagesOf((cursor) => session.runs({ limit: 2, cursor }));
    expect(own.map(({ run }) => run)).toEqual(sent.filter((_, index) => index % 2 === 1));
    expect(own.every(({ modelCalls }) => modelCalls === 1)).toBe(true);
    const all = await pagesOf((cursor) => runtime.sessions.runs({ limit: 2, cursor }));
    expect(new Set(all.map(({ run }) => run))).toEqual(new Set(sent));
    expect(all).toHaveLength(12);
    const times = (await runtime.sessions.runs()).runs.map(({ admittedAt }) => admittedAt);
    expect(times).toEqual(times.toSorted((a, b) => b - a));
    await expect(session.runs({ cursor: 'x' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(runtime.sessions.runs({ cursor: '1.2' })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('[VIEW8] a fork does not list the runs of its parent, a rewound run is marked, and a joined input has no run', async () => {
    const { runtime, session, work } = await start([{ text: 'one' }, { text: 'two' }, { text: 'three' }]);
    await session.send('1');
    await work();
    const fork = await session.fork();
    expect((await fork.runs()).runs).toEqual([]);
    const later = await session.send('2');
    await session.send('2b', { policy: 'steer' });
    await work();
    expect((await session.runs()).runs.map(({ input }) => input)).toEqual(['2', '1']);
    await session.rewind({ to: { turn: 1 } });
    const [rewound, kept] = (await session.runs()).runs;
    expect(rewound).toMatchObject({ run: later.id, rewound: true });
    expect(kept).not.toHaveProperty('rewound');
    expect((await runtime.sessions.runs()).runs).toHaveLength(2);
    const queued = await session.send('3');
    await queued.cancel();
    expect((await session.runs()).runs[0]).toMatchObject({ run: queued.id, status: 'cancelled', attempts: 0 });
  });

  test('[VIEW9] the summary has the first words of an untitled session and the progress of its plan', async () => {
    const { runtime, agent, session, work } = await start([
      call('plan', { done: 1, of: 3 }),
      { text: 'Planned.' },
      call('plan', { done: 2, of: 3 }),
      { text: 'On it.' },
    ]);
    await session.send(`Fix   the\nfailing test ${'and so on '.repeat(20)}`);
    expect((await session.summary()).firstWords).toMatch(/^Fix the failing test and so on .{1,60}…$/);
    expect((await session.summary()).firstWords).toHaveLength(80);
    await work();
    expect((await session.summary()).plan).toEqual({ done: 1, total: 3 });
    await session.send('Go on');
    await work();
    const { firstWords, plan: progress } = await session.summary();
    expect(firstWords).toMatch(/^Fix the/);
    expect(progress).toEqual({ done: 2, total: 3 });
    const fork = await (await session.fork({ at: { turn: 1 } })).summary();
    expect(fork).toMatchObject({ firstWords, plan: { done: 1, total: 3 } });
    await session.commit((draft) => {
      draft.plan.s2!.status = 'dropped';
    });
    expect((await session.summary()).plan).toEqual({ done: 2, total: 2 });
    await session.rewind({ to: { turn: 1 } });
    expect(await session.summary()).toMatchObject({ firstWords, plan: { done: 1, total: 3 } });
    await runtime.sessions.rebuildProjections();
    expect(await session.summary()).toMatchObject({ firstWords, plan: { done: 1, total: 3 } });
    await session.update({ title: 'The test' });
    expect(await session.summary()).not.toHaveProperty('firstWords');
    const carried = await runtime.sessions.open({ agent, carryFrom: session });
    expect((await carried.summary()).plan).toEqual({ done: 1, total: 3 });
    expect(await session.verify()).toMatchObject({ ok: true });
  });
});

const openCall = async (session: Session): Promise<string | undefined> => {
  const events = await Array.fromAsync(session.events());
  return events.findLast((event) => event.type === 'question.asked')?.payload.callId;
};
