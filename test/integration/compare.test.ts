import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRuntime, type Runtime } from '../../src/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { ask, undecidedAgent } from '../support/runs/undecided-agent.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('comparing branches on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  const agent = undecidedAgent();
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({
      store: place.address,
      agents: [agent],
      snapshots: { everyEvents: 9, everyBytes: 1e9 },
    });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  test('[COMP1, COMP2] branches, points and attempts are compared from where all of them part', async () => {
    const session = await runtime.sessions.open({ agent, title: 'Crossing' });
    await ask(session, 'hello');
    const { seq: common } = await session.summary();
    const fork = await session.fork({ title: 'Another way' });
    await ask(session, 'which way?');
    const { run } = await session.retry({ turn: 2 });
    await run!.result();
    await ask(fork, 'which way?');
    const places = [{ turn: 2, attempt: 1 }, { turn: 2, attempt: 2 }, { session: fork.id }, { seq: common }];
    const compared = await session.compare(places);
    expect(compared.common).toBe(common);
    expect(compared.branches.map((branch) => branch.place.session)).toEqual([
      session.id,
      session.id,
      fork.id,
      session.id,
    ]);
    const ways = compared.branches.slice(0, 3).map(({ decisions }) => decisions.first[0]!.what);
    expect(new Set(ways).size).toBe(3);
    for (const [index, branch] of compared.branches.slice(0, 3).entries()) {
      const way = ways[index];
      expect(branch).toMatchObject({
        answer: { text: `Go ${way}.` },
        outcome: { status: 'succeeded' },
        decisions: {
          first: [{ id: 'way', change: 'changed', what: way, was: 'left', why: `the coin says ${way}` }],
          more: 0,
        },
        files: { first: [{ path: 'way.txt', change: 'modified' }], more: 0 },
        calls: { total: 3, failed: 0 },
        models: ['scripted/undecided'],
        usage: { requests: 3, costUsd: 0, unpriced: 0 },
        unread: 0,
      });
      expect(branch.usage.tokens).toBeGreaterThan(0);
      expect(branch.place.seq).toBe((await session.diff(places[index]!, places[index]!)).from.seq);
    }
    expect(compared.branches[2]).toMatchObject({ title: 'Another way' });
    const nothing = compared.branches[3]!;
    expect(nothing).toMatchObject({ decisions: { first: [] }, files: { first: [] }, calls: { total: 0 } });
    expect(nothing).not.toHaveProperty('answer');
  });

  test('[COMP1] unrelated sessions are compared from their beginnings', async () => {
    const [one, two] = [await runtime.sessions.open({ agent }), await runtime.sessions.open()];
    await ask(one, 'which way?');
    await two.append([
      { role: 'user', content: 'which way?' },
      { role: 'assistant', content: 'Stay.' },
    ]);
    const { common, branches } = await one.compare([{ session: one.id }, { session: two.id }]);
    expect(common).toBe(0);
    expect(branches[1]).toMatchObject({ answer: { text: 'Stay.' }, usage: { tokens: 0 } });
    expect(branches[1]).not.toHaveProperty('outcome');
    expect(branches[0]).toMatchObject({ decisions: { first: [{ id: 'way', change: 'added' }] } });
  });

  test('[COMP3] decisions are bounded and clipped', async () => {
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'decide' });
    const fork = await session.fork();
    await fork.commit((draft) => {
      for (let n = 0; n < 60; n++) draft.decisions[`d${n}`] = { what: 'x'.repeat(2000), why: 'y' };
    });
    await session.commit((draft) => Object.assign(draft.decisions, { gone: { what: 'a', why: 'b' } }));
    const { branches } = await session.compare([{ session: session.id }, { session: fork.id }]);
    expect(branches[1]!.decisions.first).toHaveLength(50);
    expect(branches[1]!.decisions.more).toBe(10);
    expect(branches[1]!.decisions.first[0]!.what).toHaveLength(500);
  });

  test('[COMP2, SEE3] a viewer compares what it sees, 2 to 8 branches, and a hidden branch does not exist for it', async () => {
    const ann = runtime.as({ workspace: 'local', member: 'ann' });
    const open = await ann.sessions.open();
    const hidden = await ann.sessions.open({ visibility: 'private' });
    const viewer = runtime.as({ workspace: 'local', member: 'vic', role: 'viewer' });
    const seen = await viewer.sessions.get(open.id);
    expect((await seen.compare([{ seq: 1 }, { session: open.id }])).branches).toHaveLength(2);
    for (const place of [{ session: hidden.id }, { session: hidden.id, turn: 1, attempt: 1 }]) {
      expect(await failureOf(() => seen.compare([{ seq: 1 }, place]))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    }
    for (const places of [[], [{ seq: 1 }], Array.from({ length: 9 }, () => ({ seq: 1 })), 'ab', [{ seq: 1 }, {}]]) {
      expect(await failureOf(() => seen.compare(places as never))).toMatchObject({ code: 'INVALID_INPUT' });
    }
    expect(await failureOf(() => seen.compare([{ seq: 1 }, { turn: 7, attempt: 1 }]))).toMatchObject({
      code: 'POINT_NOT_FOUND',
    });
  });
});
