import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import type { Model } from '../../src/core/ports/model.ts';
import { type Agent, defineAgent, defineTool, openRuntime, type Runtime, type UsageQuery } from '../../src/index.ts';
import { subagent } from '../../src/tools/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

/** A model whose answers use 160 tokens. It delegates once if it has the tool helper. */
const model: Model = {
  name: 'test/model',
  contextTokens: 100_000,
  price: { input: 1, output: 10 },
  answer: async ({ messages, tools }) => ({
    parts:
      tools.length > 0 && messages.at(-1)!.role === 'user'
        ? [{ type: 'tool-call', callId: `call_${messages.length}`, tool: tools[0]!.name, input: { task: 'Look' } }]
        : [{ type: 'text', text: 'Done.' }],
    finish: 'stop',
    usage: { inputTokens: 100, outputTokens: 60, usd: 0.0007 },
  }),
};
const desk = defineAgent({ name: 'desk', model });
const helper = defineAgent({ name: 'helper', model });
const boss = defineAgent({ name: 'boss', model, tools: [subagent(helper)] });

const amounts = (calls: number) => ({
  tokens: 160 * calls,
  inputTokens: 100 * calls,
  outputTokens: 60 * calls,
  cachedTokens: 0,
  usd: expect.closeTo(0.0007 * calls, 12),
  unpriced: 0,
});

describe.each(storeKinds)('usage on %s', (kind) => {
  let place: StorePlace;
  beforeAll(async () => {
    place = await newStorePlace(kind);
  });
  afterAll(() => place.remove());

  let workspaces = 0;
  /** A workspace of its own for each test. */
  const start = async (options: { clock?: { now: () => number }; agents?: readonly Agent[] } = {}) => {
    const { clock, agents = [desk, helper, boss] } = options;
    const runtime = await openRuntime({ store: place.address, agents, worker: false, ...(clock && { clock }) });
    onTestFinished(() => runtime.close());
    workspaces += 1;
    const workspace = `${kind}-${workspaces}`;
    await runtime.workspaces.add(workspace);
    const as = (member: string) => runtime.as({ workspace, member, role: 'admin' });
    return { runtime, workspace, as, mine: as('mia') };
  };
  const answer = async (
    runtime: Runtime,
    session: Awaited<ReturnType<ReturnType<Runtime['as']>['sessions']['open']>>,
  ) => {
    const run = await session.send('Go');
    await runtime.worker({ pollMs: 200 }).runUntilIdle();
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    return run;
  };

  test('[COST2] one call of 160 tokens, three forks, a rewind and a replay are 160 tokens', async () => {
    const { runtime, mine } = await start();
    const session = await mine.sessions.open({ agent: desk });
    await answer(runtime, session);
    const forks = await Promise.all([1, 2, 3].map(() => session.fork()));
    await session.replay({ turn: 1 });
    const report = await mine.usage();
    expect(report.total).toEqual({ calls: 1, ...amounts(1) });
    expect(report.rows).toEqual([
      { key: session.id, calls: 1, own: amounts(1), children: amounts(0), inherited: amounts(0) },
    ]);
    for (const fork of forks) {
      expect(await fork.usage()).toMatchObject({ spent: { tokens: 160 }, own: amounts(0), inherited: amounts(1) });
    }
    await session.replay({ turn: 1, model });
    expect((await mine.usage()).total, 'a replay that asks a model is counted').toEqual({ calls: 2, ...amounts(2) });
    await session.rewind({ to: { turn: 0 } });
    await mine.sessions.rebuildProjections();
    expect((await mine.usage()).total).toEqual({ calls: 2, ...amounts(2) });
  });

  test('[COST2, COST3] a subagent is counted once, and its parent shows it apart', async () => {
    const { runtime, mine } = await start();
    const session = await mine.sessions.open({ agent: boss });
    const run = await answer(runtime, session);
    const { rows, total } = await mine.usage();
    expect(total).toEqual({ calls: 3, ...amounts(3) });
    const child = rows.find(({ key }) => key !== session.id)!;
    expect(child).toMatchObject({ calls: 1, own: amounts(1), children: amounts(0) });
    expect(rows.find(({ key }) => key === session.id)).toMatchObject({
      calls: 2,
      own: amounts(2),
      children: amounts(1),
    });
    expect((await mine.usage({ by: 'run' })).rows.find(({ key }) => key === run.id)).toEqual({
      key: run.id,
      calls: 2,
      own: amounts(2),
      children: amounts(1),
    });
    const { spent, own, children, inherited } = await session.usage();
    expect(spent).toMatchObject({ tokens: own.tokens + children.tokens + inherited.tokens, turns: 1 });
    const fork = await session.fork();
    await answer(runtime, fork);
    const ofFork = await fork.usage();
    expect(ofFork).toMatchObject({ own: amounts(2), children: amounts(1), inherited: amounts(3) });
    expect(ofFork.spent.tokens).toBe(6 * 160);
    expect((await mine.usage()).rows.find(({ key }) => key === fork.id)).toMatchObject({ inherited: amounts(3) });
    expect((await mine.usage()).total).toEqual({ calls: 6, ...amounts(6) });
  });

  test('[COST1, COST4, COST5] usage by agent, model, member, workspace, day and month, within a time, in pages', async () => {
    let nowMs = Date.UTC(2026, 10, 30, 23, 0);
    const { runtime, workspace, mine, as } = await start({ clock: { now: () => nowMs } });
    await answer(runtime, await mine.sessions.open({ agent: desk }));
    nowMs = Date.UTC(2026, 11, 1);
    await answer(runtime, await as('ben').sessions.open({ agent: boss }));
    const keysOf = async (query: UsageQuery) => (await mine.usage(query)).rows.map(({ key, own }) => [key, own.tokens]);
    expect(await keysOf({ by: 'agent' })).toEqual([
      ['boss', 320],
      ['desk', 160],
      ['helper', 160],
    ]);
    expect(await keysOf({ by: 'model' })).toEqual([['test/model', 640]]);
    expect(await keysOf({ by: 'member' })).toEqual([
      ['ben', 480],
      ['mia', 160],
    ]);
    expect(await keysOf({ by: 'workspace' })).toEqual([[workspace, 640]]);
    expect(await keysOf({ by: 'day' })).toEqual([
      ['2026-12-01', 480],
      ['2026-11-30', 160],
    ]);
    expect(await keysOf({ by: 'month' })).toEqual([
      ['2026-12', 480],
      ['2026-11', 160],
    ]);
    const december = { since: new Date(Date.UTC(2026, 11)), until: Date.UTC(2027, 0) - 1 };
    expect((await mine.usage({ ...december, by: 'member' })).total).toEqual({ calls: 3, ...amounts(3) });
    expect(await keysOf({ ...december, member: 'ben', by: 'agent' })).toEqual([
      ['boss', 320],
      ['helper', 160],
    ]);
    const first = await mine.usage({ by: 'agent', limit: 2 });
    expect(first.rows.map(({ key }) => key)).toEqual(['boss', 'desk']);
    const second = await mine.usage({ by: 'agent', limit: 2, cursor: first.cursor });
    expect(second.rows.map(({ key }) => key)).toEqual(['helper']);
    expect(second).not.toHaveProperty('cursor');
    expect([first.total, second.total]).toEqual([first.total, first.total]);
    await expect(mine.usage({ by: 'model', cursor: first.cursor })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    for (const wrong of [{ by: 'week' }, { limit: 0 }, { since: new Date('never') }, { member: 'a b' }, { x: 1 }]) {
      await expect(mine.usage(wrong as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
  });

  test('[COST6] only the program reads the usage of all workspaces, and a key needs the area usage', async () => {
    const { runtime, workspace, mine } = await start();
    await answer(runtime, await mine.sessions.open({ agent: desk }));
    const all = await runtime.usage({ by: 'workspace' });
    expect(all.rows).toContainEqual({ key: workspace, calls: 1, own: amounts(1) });
    expect(all.total.calls).toBe(all.rows.reduce((sum, { calls }) => sum + calls, 0));
    const [head] = (await runtime.usage({ by: 'workspace', limit: 1 })).rows;
    expect(head).toEqual(all.rows[0]);
    expect((await mine.usage({ by: 'workspace' })).rows.map(({ key }) => key)).toEqual([workspace]);
    expect((await runtime.as({ workspace: 'local', member: 'eve', role: 'viewer' }).usage()).total.calls).toBe(0);
    await mine.members.add({ id: 'mia', role: 'admin' });
    const { token } = await mine.keys.create({ member: 'mia', role: 'viewer', areas: ['sessions'] });
    const narrow = await runtime.authenticate(token);
    await expect(runtime.as(narrow!.identity).usage()).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  test('[COST11] the time after a worker died is not active time', async () => {
    let nowMs = Date.UTC(2027, 0, 1);
    const clock = { now: () => nowMs };
    const reached = Promise.withResolvers<void>();
    let isStuck = true;
    const wait = defineTool({
      name: 'wait',
      input: z.object({}).loose(),
      effects: 'none',
      execute: async () => {
        nowMs += 1000;
        if (!isStuck) return 'over';
        reached.resolve();
        return new Promise(() => undefined);
      },
    });
    const waiting = defineAgent({ name: 'waiting', model, tools: [wait] });
    const { runtime, workspace, mine } = await start({ clock, agents: [waiting] });
    const session = await mine.sessions.open({ agent: waiting });
    nowMs += 500;
    const run = await session.send('Go');
    await runtime.worker({ pollMs: 200 }).start();
    await reached.promise;
    await runtime.close();
    nowMs += 3_600_000;
    isStuck = false;
    const later = await openRuntime({ store: place.address, agents: [waiting], worker: false, clock });
    onTestFinished(() => later.close());
    await later.worker({ pollMs: 200 }).runUntilIdle();
    const again = await later.as({ workspace, member: 'mia', role: 'admin' }).sessions.get(session.id);
    expect(await (await again.run(run.id)).result()).toMatchObject({ status: 'succeeded' });
    const { spent } = await again.usage();
    expect(spent.activeMs).toBe(1000);
  });
});
