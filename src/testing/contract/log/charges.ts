import { describe, expect, test } from 'vitest';
import type { ChargeAmounts, ChargeGroup, ChargeQuery } from '../../../core/ports/charges.ts';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import { Actor, newId, type WorkspaceId } from '../../../schema/ids.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { answered, childEnded, runWriter } from '../records/record-events.ts';
import { event } from './new-events.ts';
import { type append, forkSession, mustAppend, openSession } from './session-log.ts';

const none: ChargeAmounts = { inputTokens: 0, outputTokens: 0, cachedTokens: 0, usd: 0, unpriced: 0 };
const tokens = (inputTokens: number, outputTokens: number, usd?: number) => ({
  inputTokens,
  outputTokens,
  ...(usd !== undefined && { usd }),
});

const opened = async (store: Store, workspace: WorkspaceId): Promise<SessionKey> => {
  const key = newKey(workspace);
  await openSession(store, key, { at: 1 });
  return key;
};

const run = (store: Store, key: SessionKey, events: Parameters<typeof append>[2], at = 1_000) =>
  mustAppend(store, key, events, { writer: runWriter, at });

/** The groups, which must be the same in pages of any size. */
const groupsOf = async (store: Store, workspace: WorkspaceId, by: ChargeGroup, asked: ChargeQuery = {}) => {
  const all = await store.groupCharges(workspace, { ...asked, by, limit: 100 });
  for (const limit of [1, 2]) {
    const paged = [];
    for (let after: string | undefined; ; ) {
      const page = await store.groupCharges(workspace, { ...asked, by, limit, after });
      expect(page.length).toBeLessThanOrEqual(limit);
      paged.push(...page);
      if (page.length === 0) break;
      after = page.at(-1)!.key;
    }
    expect(paged).toEqual(all);
  }
  return all;
};

const shortOf = (groups: Awaited<ReturnType<typeof groupsOf>>) =>
  groups.map(({ key, calls, own }) => [key, calls, own.inputTokens + own.outputTokens]);

export const describeCharges = (setup: ContractSetup) =>
  describe('charges', () => {
    test('[COST1] the usage of model calls is summed with its tokens, its cost and the calls of unknown price', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const key = await opened(store, workspace);
      await run(store, key, [
        answered({ ...tokens(100, 60, 0.1), cachedTokens: 40 }),
        answered(tokens(10, 5, 0.2)),
        answered(tokens(1, 2)),
        answered(tokens(0, 0, 0)),
        event('model.failed', {
          model: 'test/model',
          attempt: 1,
          failure: 'broken-stream',
          message: 'it broke off',
          usage: tokens(7, 0, 0.01),
        }),
        event('model.failed', { model: 'test/model', attempt: 2, failure: 'timeout', message: 'too late' }),
      ]);
      const own = { inputTokens: 118, outputTokens: 67, cachedTokens: 40, usd: 0.31, unpriced: 1 };
      expect(await store.sumCharges(workspace, {})).toEqual({ calls: 4, own, children: none });
      expect(await store.sumCharges(newWorkspace(), {})).toEqual({ calls: 0, own: none, children: none });
      expect(await setup.other.sumCharges(workspace, { session: key.session })).toMatchObject({ calls: 4 });
    });

    test('[COST2] the rest of a broken-off answer is no further call', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const key = await opened(store, workspace);
      const [agent, requestedBy] = [Actor.parse('agent:desk'), Actor.parse('member:mia')];
      const broken = { message: newId('msg'), usedBy: { model: 'test/model', agent, requestedBy } };
      await run(store, key, [
        event('message.abandoned', { ...broken, usage: tokens(10, 5) }),
        event('message.abandoned', { ...broken, usage: tokens(0, 3), isRest: true }),
        event('message.abandoned', { ...broken, message: newId('msg'), usage: tokens(20, 1), isRest: true }),
      ]);
      const own = { ...none, inputTokens: 30, outputTokens: 9, unpriced: 2 };
      expect(await store.sumCharges(workspace, {})).toEqual({ calls: 2, own, children: none });
      expect(await groupsOf(store, workspace, 'model')).toMatchObject([{ key: 'test/model', calls: 2, own }]);
    });

    test('[COST1, COST4] charges are grouped by run, session, agent, model, member, day and month', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const [a, b] = [await opened(store, workspace), await opened(store, workspace)];
      const [first, second] = [newId('run'), newId('run')];
      const november = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
      await run(store, a, [answered(tokens(1, 0), { run: first, member: 'mia', model: 'm/one' })], november);
      await run(store, a, [answered(tokens(2, 0), { run: first, agent: 'desk', member: 'mia' })], november + 1);
      await run(store, b, [answered(tokens(4, 0), { run: second, member: 'Ben', model: 'm/one' })], november + 1);
      await run(store, b, [answered(tokens(8, 0), { run: second })], november + 86_400_001);
      const expected: Record<ChargeGroup, readonly unknown[]> = {
        run: [
          [second, 2, 12],
          [first, 2, 3],
        ],
        session: [
          [b.session, 2, 12],
          [a.session, 2, 3],
        ].toSorted(([x], [y]) => (String(x) < String(y) ? 1 : -1)),
        agent: [
          ['coder', 3, 13],
          ['desk', 1, 2],
        ],
        model: [
          ['m/one', 2, 5],
          ['test/model', 2, 10],
        ],
        member: [
          ['', 1, 8],
          ['Ben', 1, 4],
          ['mia', 2, 3],
        ],
        day: [
          ['2026-12-02', 1, 8],
          ['2026-12-01', 2, 6],
          ['2026-11-30', 1, 1],
        ],
        month: [
          ['2026-12', 3, 14],
          ['2026-11', 1, 1],
        ],
      };
      for (const [by, groups] of Object.entries(expected)) {
        expect(shortOf(await groupsOf(store, workspace, by as ChargeGroup)), by).toEqual(groups);
      }
      const filters: readonly (readonly [ChargeQuery, number])[] = [
        [{ since: november + 1 }, 14],
        [{ until: november }, 1],
        [{ since: november, until: november + 1 }, 7],
        [{ member: 'mia' }, 3],
        [{ agent: 'coder', model: 'm/one' }, 5],
        [{ session: b.session }, 12],
        [{ member: 'nobody' }, 0],
      ];
      for (const [query, sum] of filters) {
        const total = await store.sumCharges(workspace, query);
        expect(total.own.inputTokens, JSON.stringify(query)).toBe(sum);
        const groups = await groupsOf(store, workspace, 'month', query);
        expect(groups.reduce((all, { own }) => all + own.inputTokens, 0)).toBe(sum);
      }
    });

    test('[COST2, COST3] a subagent is counted apart, and an inherited call only in the session that made it', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const [parent, sub, fork] = [await opened(store, workspace), await opened(store, workspace), newKey(workspace)];
      const by = newId('run');
      await run(store, parent, [answered(tokens(100, 0, 1), { run: by })]);
      await run(store, sub, [answered(tokens(30, 0, 0.5))]);
      await run(store, parent, [
        childEnded(sub.session, tokens(30, 0, 0.5), by),
        answered(tokens(9, 0, 1), { run: by }),
      ]);
      await forkSession(store, parent, 3, fork);
      await run(store, fork, [answered(tokens(5, 0, 1))]);
      const own = (inputTokens: number, usd: number) => ({ ...none, inputTokens, usd });
      expect(await store.sumCharges(workspace, {})).toMatchObject({ calls: 4, own: own(144, 3.5) });
      const ofSessions = new Map((await groupsOf(store, workspace, 'session')).map(({ key, ...sum }) => [key, sum]));
      expect(ofSessions.get(parent.session)).toEqual({ calls: 2, own: own(109, 2), children: own(30, 0.5) });
      expect(ofSessions.get(sub.session)).toEqual({ calls: 1, own: own(30, 0.5), children: none });
      expect(ofSessions.get(fork.session)).toEqual({ calls: 1, own: own(5, 1), children: none });
      expect((await groupsOf(store, workspace, 'run')).find(({ key }) => key === by)).toMatchObject({
        own: own(109, 2),
        children: own(30, 0.5),
      });
      for (const group of ['agent', 'model', 'member', 'day', 'month'] as const) {
        const groups = await groupsOf(store, workspace, group);
        expect(
          groups.reduce((sum, { own: { inputTokens } }) => sum + inputTokens, 0),
          group,
        ).toBe(144);
        expect(groups.every(({ children }) => children.inputTokens === 0)).toBe(true);
      }
      const inherited = (session: SessionKey, to: number) =>
        store.sumCharges(workspace, { within: { session: session.session, ranges: [[1, to]] } });
      expect(await inherited(fork, 3)).toEqual({ calls: 1, own: own(100, 1), children: own(30, 0.5) });
      expect(await inherited(fork, 99)).toMatchObject({ calls: 2, own: own(105, 2) });
      expect(await inherited(newKey(workspace), 99)).toEqual({ calls: 0, own: none, children: none });
    });

    test('[COST1, TEN1] charges of another workspace are not counted', async () => {
      const { store } = setup;
      const mine = await opened(store, newWorkspace());
      const theirs = { ...mine, workspace: newWorkspace() };
      await openSession(store, theirs, { at: 1 });
      await run(store, theirs, [answered(tokens(5, 5))]);
      expect(await store.sumCharges(mine.workspace, { session: mine.session })).toMatchObject({ calls: 0 });
      expect(await store.groupCharges(mine.workspace, { by: 'session', limit: 9 })).toEqual([]);
    });
  });
