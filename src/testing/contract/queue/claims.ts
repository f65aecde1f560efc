import { describe, expect, test } from 'vitest';
import type { Claim, Queue } from '../../../core/ports/queue.ts';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import type { Priority } from '../../../schema/description.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { event, opened } from '../log/new-events.ts';
import { mustAppend } from '../log/session-log.ts';
import { calling, claimAs, claimOf, enterSessions, hourMs, leaseAs, presenceOf, sessionsIn } from './work-events.ts';

interface Binding {
  readonly agent?: string;
  readonly priority?: Priority;
}

/** Enters into the queue a session that is bound to version 1 of the agent. */
const enterBound = async (
  store: Store,
  { agent: name, priority }: Binding,
  workspace: WorkspaceId = newWorkspace(),
): Promise<SessionKey> => {
  const key = newKey(workspace);
  const agent = name === undefined ? undefined : { name, version: 1 };
  await mustAppend(store, key, [opened({ agent, priority }), calling()], { creates: {} });
  return key;
};

let agents = 0;
/** An agent that no other test uses. */
const newAgent = (): string => `agent-${process.pid}-${++agents}`;

const countBy = (names: readonly string[]): readonly number[] =>
  [...Map.groupBy(names, (name) => name).values()].map(({ length }) => length).toSorted();

const workspacesOf = async (store: Queue, claim: Partial<Claim>): Promise<readonly WorkspaceId[]> =>
  (await store.claim(claimOf('w1', claim))).taken.map(({ workspace }) => workspace);

/** Claims everything that other tests left, so that it does not interfere. */
const takeRest = async (store: Queue): Promise<void> => {
  while ((await claimAs(store, 'rest')).length > 0);
};

export const describeClaims = (setup: ContractSetup) =>
  describe('claims', () => {
    test('[QUEUE7] the next claim includes a workspace with little work, however much work others have waiting', async () => {
      const { store, other } = setup;
      const [busy, quiet] = [newWorkspace(), newWorkspace()];
      await takeRest(store);
      await Promise.all(Array.from({ length: 5 }, () => enterSessions(store, busy, 20)));
      expect(await workspacesOf(store, { count: 3 })).toEqual([busy, busy, busy]);
      const [late] = await enterSessions(store, quiet, 1);
      expect(await workspacesOf(other, { count: 1 })).toEqual([quiet]);
      await other.finish(late!, { worker: 'w1', seq: 2 });
      await enterSessions(store, quiet, 5);
      expect(await workspacesOf(other, { count: 5 })).toEqual([
        quiet,
        quiet,
        quiet,
        expect.any(String),
        expect.any(String),
      ]);
      expect((await workspacesOf(other, { count: 2 })).toSorted()).toEqual([busy, quiet].toSorted());
    });

    test('[QUEUE7] workspaces get equal shares over many claims, also while work is finished', async () => {
      const { store, other } = setup;
      const workspaces = Array.from({ length: 5 }, () => newWorkspace());
      await takeRest(store);
      await Promise.all(workspaces.map((workspace, i) => enterSessions(store, workspace, 12 + i * 8)));
      const done: string[] = [];
      for (let round = 0; round < 12; round++) {
        const { taken } = await [store, other][round % 2]!.claim(claimOf('w1', { count: 5 }));
        done.push(...taken.map(({ workspace }) => workspace));
        for (const work of taken) await other.finish(work, { worker: 'w1', seq: work.seq });
      }
      expect(countBy(done)).toEqual([12, 12, 12, 12, 12]);
    });

    test('[QUEUE7, QUEUE17] work of each of very many workspaces is eventually claimed', async () => {
      const { store } = setup;
      const agent = newAgent();
      const keys = await Promise.all(Array.from({ length: 150 }, () => enterBound(store, { agent })));
      await takeRest(store);
      const taken: SessionId[] = [];
      while (taken.length < keys.length) {
        const more = await claimAs(store, 'w1', { count: 7, agents: [`${agent}@1`] });
        expect(more.length).toBeGreaterThan(0);
        taken.push(...more);
      }
      expect(taken.toSorted()).toEqual(keys.map(({ session }) => session).toSorted());
    });

    test('[QUEUE8] within a workspace, sessions with higher priority are claimed first, then the oldest', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const enter = (priority?: Priority) => enterBound(store, { ...(priority && { priority }) }, workspace);
      const [low, normal, high] = [await enter('low'), await enter(), await enter('high')];
      const [later, last] = [await enter('normal'), await enter('low')];
      const inOrder = [high, normal, later, low, last].map(({ session }) => session);
      expect(await claimAs(store, 'w1', { workspace, count: 2 })).toEqual(inOrder.slice(0, 2));
      expect(await claimAs(store, 'w1', { workspace })).toEqual(inOrder.slice(2));
    });

    test('[QUEUE8] a priority changed while the session waits takes effect immediately', async () => {
      const { store } = setup;
      const [first, second] = await enterSessions(store, newWorkspace(), 2);
      const { workspace } = first!;
      await mustAppend(store, second!, [event('session.described', { priority: 'high' })]);
      expect(await sessionsIn(store, workspace)).toHaveLength(2);
      expect(await claimAs(store, 'w1', { workspace, count: 1 })).toEqual([second!.session]);
      await store.finish(second!, { worker: 'w1', seq: 2 });
      await mustAppend(store, second!, [event('session.described', { priority: 'low' })]);
      expect(await sessionsIn(store, workspace)).toEqual([first!.session]);
    });

    test('[QUEUE9] limits hold for all workers together, even when many claim at the same time through two stores', async () => {
      const agent = newAgent();
      const stores = [setup.store, setup.other];
      const workspaces = [newWorkspace(), newWorkspace()];
      const keys: SessionKey[] = [];
      for (const workspace of workspaces) {
        for (let i = 0; i < 10; i++) keys.push(await enterBound(setup.store, { agent }, workspace));
      }
      await takeRest(setup.store);
      const claim = (limits: Claim['limits']) =>
        Promise.all(
          Array.from({ length: 10 }, (_, i) =>
            stores[i % 2]!.claim(claimOf(`w${i}`, { count: 4, agents: [`${agent}@1`], limits })),
          ),
        ).then((all) => all.flatMap(({ taken }) => taken));
      const one = await claim({ perWorkspace: 3 });
      expect(countBy(one.map(({ workspace }) => workspace))).toEqual([3, 3]);
      expect(await claim({ perAgent: { [`${agent}@1`]: 6 } })).toEqual([]);
      expect(await claim({ perAgent: { [`${agent}@1`]: 9 } })).toHaveLength(3);
      expect(await claim({ perWorkspace: 5, perAgent: { [`${agent}@1`]: 100, other: 0 } })).toHaveLength(1);
      await setup.store.finish(one[0]!, { worker: one[0]!.lease!.holder.worker, seq: 2 });
      expect(await claim({ perAgent: { [`${agent}@1`]: 10 } })).toHaveLength(1);
      expect(await claim({})).toHaveLength(keys.length - 11);
    });

    test('[QUEUE9] an agent at its limit does not reduce the share of another agent', async () => {
      const { store } = setup;
      const [full, free] = [newAgent(), newAgent()];
      const workspace = newWorkspace();
      for (const agent of [full, full, full, free]) await enterBound(store, { agent }, workspace);
      const limits = { perWorkspace: 2, perAgent: { [`${full}@1`]: 1 } };
      const { taken } = await store.claim(
        claimOf('w1', { workspace, count: 4, agents: [`${full}@1`, `${free}@1`], limits }),
      );
      expect(taken.map(({ agent }) => agent)).toEqual([`${full}@1`, `${free}@1`]);
    });

    test('[QUEUE9] a lapsed lease does not count toward limits', async () => {
      const { store } = setup;
      const [first, second] = await enterSessions(store, newWorkspace(), 2);
      const { workspace } = first!;
      const limits = { perWorkspace: 1 };
      expect(await claimAs(store, 'w1', { workspace, limits, forMs: 30 })).toEqual([first!.session]);
      await expect.poll(() => claimAs(store, 'w2', { workspace, limits })).toEqual([second!.session]);
    });

    test('[QUEUE10] a worker gets sessions that are bound to one of its agents or to no agent', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const [mine, theirs] = [newAgent(), newAgent()];
      const bound = await enterBound(store, { agent: mine }, workspace);
      const foreign = await enterBound(store, { agent: theirs }, workspace);
      const unbound = await enterBound(store, {}, workspace);
      const { taken } = await store.claim(claimOf('w1', { workspace, agents: [`${mine}@1`, `${theirs}@2`] }));
      expect(taken).toMatchObject([
        { ...bound, seq: 2, agent: `${mine}@1` },
        { ...unbound, agent: '' },
      ]);
      await mustAppend(store, foreign, [
        event('agent.bound', { agent: { name: theirs, version: 2 }, schemaHash: 'f'.repeat(64) }),
      ]);
      expect(await claimAs(store, 'w1', { workspace, agents: [`${theirs}@1`] })).toEqual([]);
      expect(await claimAs(store, 'w1', { workspace, agents: [`${theirs}@2`] })).toEqual([foreign.session]);
    });

    test('[QUEUE10, QUEUE24] a claim that names sessions gets only those, and only if it names their workspace too', async () => {
      const { store } = setup;
      const keys = await enterSessions(store, newWorkspace(), 4);
      const [a, b] = [keys[3]!.session, keys[1]!.session];
      const { workspace } = keys[0]!;
      expect(await claimAs(store, 'w1', { workspace: newWorkspace(), sessions: [a, b] })).toEqual([]);
      expect(await claimAs(store, 'w1', { sessions: [a, b] })).toEqual([]);
      expect(await claimAs(store, 'w1', { workspace, sessions: [a, b, newKey().session] })).toEqual([b, a]);
      expect(await sessionsIn(store, workspace)).toEqual([keys[0]!.session, keys[2]!.session, b, a]);
    });

    test('[QUEUE10, QUEUE18] a claim for stranded work that names sessions gets only those, and only if it names their workspace too', async () => {
      const { store } = setup;
      const [agent, workspace] = [newAgent(), newWorkspace()];
      const [{ session }] = [
        await enterBound(store, { agent }, workspace),
        await enterBound(store, { agent }, workspace),
      ];
      const stranded = (about: Partial<Claim>) =>
        claimAs(store, 'w1', { strandedMs: 0, sessions: [session], ...about });
      expect(await stranded({})).toEqual([]);
      expect(await stranded({ workspace: newWorkspace() })).toEqual([]);
      expect(await stranded({ workspace })).toEqual([session]);
    });

    test('[QUEUE18] work for an agent that no worker serves is offered as stranded until one worker without the agent has inspected it', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const agent = newAgent();
      const key = await enterBound(store, { agent }, workspace);
      const stranded = (strandedMs: number) => claimAs(other, 'w1', { workspace, strandedMs });
      expect(await stranded(hourMs)).toEqual([]);
      expect(await claimAs(other, 'w1', { workspace, strandedMs: 0, agents: [`${agent}@1`] })).toEqual([]);
      expect(await stranded(0)).toEqual([key.session]);
      await other.release(key, { worker: 'w1', lacksAgent: true });
      await other.release(key, { worker: 'w1', lacksAgent: true });
      expect(await stranded(0)).toEqual([]);
      await mustAppend(store, key, [calling()]);
      expect(await stranded(0)).toEqual([key.session]);
      await other.release(key, { worker: 'w1', lacksAgent: true });
      expect(await claimAs(store, 'w2', { workspace, agents: [`${agent}@1`] })).toEqual([key.session]);
      await store.release(key, { worker: 'w2' });
      expect(await stranded(0)).toEqual([key.session]);
      await other.release(key, { worker: 'w1', lacksAgent: true });
      expect(await claimAs(store, 'dies', { workspace, agents: [`${agent}@1`], forMs: 0 })).toEqual([key.session]);
      await expect.poll(() => stranded(0)).toEqual([key.session]);
    });

    test('[QUEUE18] work is never stranded while a live worker serves its agent', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const agent = newAgent();
      const key = await enterBound(store, { agent }, workspace);
      const holds = { agents: [`${agent}@1`] };
      const touch = (about: Parameters<typeof presenceOf>[1], forMs = hourMs) =>
        store.touch(presenceOf('holds', { ...holds, ...about }), { held: [], forMs });
      const stranded = () => claimAs(other, 'w1', { strandedMs: 0, workspace });
      await touch({});
      expect(await stranded()).toEqual([]);
      await touch({ workspace });
      expect(await stranded()).toEqual([]);
      for (const absent of [{ workspace: newWorkspace() }, { agents: [] }, { isDraining: true }]) {
        await touch(absent);
        expect(await stranded()).toEqual([key.session]);
        await other.release(key, { worker: 'w1' });
      }
      await touch({}, 0);
      expect(await stranded()).toEqual([key.session]);
      await store.leave('holds');
    });

    test('[QUEUE11] a session is reserved briefly for a live worker that has the files of the session and free capacity', async () => {
      const { store, other } = setup;
      const [here, there] = [newAgent(), newAgent()];
      const key = await enterBound(store, {});
      const { workspace } = key;
      await leaseAs(store, key, 'at-home');
      await store.finish(key, { worker: 'at-home', seq: 2, place: there });
      expect(await sessionsIn(store, workspace)).toEqual([]);
      const touch = (about: Parameters<typeof presenceOf>[1], forMs = hourMs) =>
        store.touch(presenceOf('at-home', { place: there, ...about }), { held: [], forMs });
      const claim = () => claimAs(other, 'away', { workspace, place: here });
      const again = async () => {
        await mustAppend(store, key, [calling()]);
        expect(await sessionsIn(store, workspace)).toEqual([key.session]);
      };
      await touch({});
      await again();
      expect(await claim()).toEqual([]);
      expect(await claimAs(store, 'at-home', { workspace, place: there })).toEqual([key.session]);
      await store.finish(key, { worker: 'at-home', seq: 99, place: there });
      for (const about of [{ isDraining: true }, { workspace: newWorkspace() }, { concurrency: 0 }, { place: here }]) {
        await touch(about);
        await again();
        expect(await claim()).toEqual([key.session]);
        await other.finish(key, { worker: 'away', seq: 99 });
      }
      await touch({});
      await again();
      expect(await claim()).toEqual([]);
      expect(await claimAs(store, 'at-home', { workspace, place: there })).toEqual([key.session]);
      await store.finish(key, { worker: 'at-home', seq: 99 });
      await touch({}, 0);
      await again();
      expect(await claim()).toEqual([key.session]);
      await other.finish(key, { worker: 'away', seq: 99, place: here });
      await touch({});
      await again();
      expect(await claim()).toEqual([key.session]);
    });

    test('[QUEUE11] a session whose files are elsewhere can be claimed after half a second', async () => {
      const { store } = setup;
      const key = await enterBound(store, {});
      const { workspace } = key;
      const place = newAgent();
      await leaseAs(store, key, 'at-home');
      await store.finish(key, { worker: 'at-home', seq: 2, place });
      await store.touch(presenceOf('at-home', { place }), { held: [], forMs: hourMs });
      const before = Date.now();
      await mustAppend(store, key, [calling()]);
      await expect.poll(() => claimAs(store, 'away', { workspace, place: 'away' })).toEqual([key.session]);
      expect(Date.now() - before).toBeGreaterThanOrEqual(500);
    });
  });
