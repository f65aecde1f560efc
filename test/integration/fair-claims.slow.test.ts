import { expect, test } from 'vitest';
import { WorkspaceId } from '../../src/schema/ids.ts';
import { newKey } from '../../src/testing/contract/contract-setup.ts';
import { claimAs, claimOf, enterSessions } from '../../src/testing/contract/queue/work-events.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, type StoreKind, storeKinds } from '../support/stores/stores.ts';

const anHourAgo: Record<StoreKind, string> = {
  sqlite: `${Date.now() - 3_600_000}`,
  postgres: `now() - interval '1 hour'`,
};
const yes: Record<StoreKind, string> = { sqlite: '1', postgres: 'true' };

test.for(storeKinds)(
  '[QUEUE7] on %s a workspace with 10,000 older and more urgent waiting sessions does not delay a workspace with a few',
  async (kind, { onTestFinished }) => {
    const place = await newStorePlace(kind);
    onTestFinished(place.remove);
    const store = await openStoreAt(place.address);
    onTestFinished(() => store.close());
    const [crowd, quiet] = [newKey().workspace, newKey().workspace];
    await place.edit(
      (_, prefix) => `
      insert into ${prefix}work (workspace, session, seq, done, agent, priority, visible_at, ready, lacks_agent)
      with recursive numbers(n) as (select 1 union all select n + 1 from numbers where n < 10000)
      select '${crowd}', 'ses_' || n, 2, 0, '', 2, ${anHourAgo[kind]}, ${yes[kind]}, not ${yes[kind]} from numbers`,
    );

    const done = { [crowd]: 0, [quiet]: 0 };
    await enterSessions(store, quiet, 3);
    for (let round = 0; round < 50; round++) {
      if (round > 0) await enterSessions(store, quiet, 1);
      const { taken } = await store.claim(claimOf('w1', { count: 4 }));
      for (const work of taken) done[work.workspace]!++;
      expect(taken.filter(({ workspace }) => workspace === quiet)).toHaveLength(round < 2 ? 2 : 1);
      for (const work of taken) await store.finish(work, { worker: 'w1', seq: work.seq });
    }
    expect(done).toEqual({ [crowd]: 148, [quiet]: 52 });
  },
);

test.for(storeKinds)(
  '[QUEUE17] on %s a claim that finds only workspaces at their limit returns nothing, and the next one continues from there',
  async (kind, { onTestFinished }) => {
    const place = await newStorePlace(kind);
    onTestFinished(place.remove);
    const open = async () => {
      const store = await openStoreAt(place.address);
      onTestFinished(() => store.close());
      return store;
    };
    const [store, other] = [await open(), await open()];
    const limits = { perWorkspace: 1 };
    const full = Array.from({ length: 130 }, (_, n) => WorkspaceId.parse(`w-${String(n).padStart(3, '0')}`));
    await Promise.all(full.map((workspace) => enterSessions(store, workspace, 2)));
    expect(await claimAs(store, 'w1', { limits })).toHaveLength(full.length);
    const [free] = await enterSessions(store, WorkspaceId.parse('x'), 1);
    // Many agents make the share of each small, so that one claim examines few workspaces.
    const agents = Array.from({ length: 7 }, (_, n) => `agent-${n}@1`);
    expect(await claimAs(other, 'w2', { limits, agents })).toEqual([]);
    expect(await claimAs(other, 'w2', { limits, agents })).toEqual([free!.session]);
  },
);
