import { describe, expect, test } from 'vitest';
import type { SessionKey, Store } from '../../../core/ports/store.ts';
import type { Viewer } from '../../../core/ports/viewers.ts';
import { MemberId, type WorkspaceId } from '../../../schema/ids.ts';
import type { Ownership } from '../../../schema/sharing.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { answered, called, committed, runWriter } from '../records/record-events.ts';
import { event, message, opened } from './new-events.ts';
import { forkSession, mustAppend, mustHead } from './session-log.ts';

const [ada, bob, eve] = ['ada', 'bob', 'eve'].map((name) => MemberId.parse(name)) as [MemberId, MemberId, MemberId];
const viewer = (member: MemberId, reach: Viewer['reach'] = 'workspace', more: Partial<Viewer> = {}): Viewer => ({
  member,
  reach,
  ...more,
});

/** A session with one commit, one call and one charge. */
const open = async (store: Store, workspace: WorkspaceId, ownership: Ownership, at: number): Promise<SessionKey> => {
  const key = newKey(workspace);
  await mustAppend(store, key, [opened(ownership), message('a', 'next')], { creates: {}, at });
  await mustAppend(store, key, [committed(['/facts/a']), called('c'), answered({ inputTokens: 1, outputTokens: 1 })], {
    writer: runWriter,
    at,
  });
  return key;
};

const workspaceOf = async (store: Store) => {
  const workspace = newWorkspace();
  const [wide, hidden, shared, foreign] = [
    await open(store, workspace, { owner: ada }, 1_000),
    await open(store, workspace, { owner: ada, visibility: 'private' }, 2_000),
    await open(store, workspace, { owner: ada, visibility: 'private', sharedWith: [bob] }, 3_000),
    await open(store, workspace, {}, 4_000),
  ];
  return { workspace, wide, hidden, shared, foreign };
};

const ids = (keys: readonly SessionKey[]) => keys.map(({ session }) => session).sort();

/** What every query of the workspace shows to a viewer. All must show the same sessions. */
const shownTo = async (store: Store, workspace: WorkspaceId, by: Viewer): Promise<readonly string[]> => {
  const asked = { viewer: by, limit: 100 };
  const listed = (await store.list(workspace, asked)).sessions.map(({ id }) => id).sort();
  expect((await store.list(workspace, { ...asked, by: 'id' })).sessions.map(({ id }) => id)).toEqual(listed);
  const commits = await store.findCommits(workspace, asked);
  expect(commits.map(({ session }) => session).sort()).toEqual(listed);
  const byPath = await store.findCommits(workspace, { ...asked, prefix: '/facts/a' });
  expect(byPath.map(({ session }) => session).sort()).toEqual(listed);
  expect((await store.findCalls(workspace, asked)).map(({ session }) => session).sort()).toEqual(listed);
  expect((await store.sumCharges(workspace, { viewer: by })).calls).toBe(listed.length);
  const groups = await store.groupCharges(workspace, { ...asked, by: 'session' });
  expect(groups.map(({ key }) => key).sort()).toEqual(listed);
  return listed;
};

export const describeViewers = (setup: ContractSetup) =>
  describe('viewers', () => {
    test('[SEE2, SEE5] listings and queries show a viewer exactly the sessions that it sees', async () => {
      const { store } = setup;
      const { workspace, wide, hidden, shared, foreign } = await workspaceOf(store);
      const shown = (by: Viewer) => shownTo(store, workspace, by);
      expect(await shown(viewer(ada))).toEqual(ids([wide, hidden, shared, foreign]));
      expect(await shown(viewer(bob))).toEqual(ids([wide, shared, foreign]));
      expect(await shown(viewer(eve))).toEqual(ids([wide, foreign]));
      expect(await shown(viewer(ada, 'own'))).toEqual(ids([wide, hidden, shared]));
      expect(await shown(viewer(bob, 'own'))).toEqual(ids([shared]));
      expect(await shown(viewer(eve, 'own'))).toEqual([]);
      const named = (...sessions: readonly SessionKey[]) => ({ sessions: sessions.map(({ session }) => session) });
      expect(await shown(viewer(ada, 'own', named(hidden)))).toEqual(ids([hidden]));
      expect(await shown(viewer(eve, 'workspace', named(hidden, foreign)))).toEqual(ids([foreign]));
      expect(await shown(viewer(ada, 'workspace', named()))).toEqual([]);
    });

    test('[SEE5] pages of a viewer are full, in both orders, with and without a status', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const seen: SessionKey[] = [];
      for (let each = 0; each < 9; each++) {
        const visibility = each % 3 ? 'private' : 'workspace';
        const key = await open(store, workspace, { owner: ada, visibility }, 1_000 + each);
        if (visibility === 'workspace') seen.push(key);
      }
      for (const by of ['change', 'id'] as const) {
        for (const status of [undefined, ['active'] as const]) {
          const asked = { viewer: viewer(bob), by, status };
          const { sessions, next } = await store.list(workspace, { ...asked, limit: 2 });
          const [first, second] = sessions;
          expect([first, second].every(Boolean)).toBe(true);
          const rest = await store.list(workspace, { ...asked, limit: 2, after: next });
          expect([first!, second!, ...rest.sessions].map(({ id }) => id).sort()).toEqual(ids(seen));
        }
      }
      expect(await store.list(workspace, { viewer: viewer(bob), status: ['closed'], limit: 2 })).toEqual({
        sessions: [],
      });
    });

    test('[SEE2, SEE5] a change of visibility, sharing or holder moves listings at once, and a rebuild keeps them', async () => {
      const { store, other } = setup;
      const { workspace, wide, hidden, foreign } = await workspaceOf(store);
      await mustAppend(store, wide, [event('session.shared', { visibility: 'private', sharedWith: [eve] })], {});
      await mustAppend(store, hidden, [event('session.shared', { visibility: 'workspace' })], {});
      await mustAppend(store, foreign, [event('session.shared', { visibility: 'private' })], {});
      await mustAppend(store, foreign, [event('session.handed', { to: 'human', member: eve })], {});
      const expected = ids([wide, hidden, foreign]);
      expect(await shownTo(other, workspace, viewer(eve))).toEqual(expected);
      expect((await mustHead(store, wide)).summary).toMatchObject({ visibility: 'private', sharedWith: [eve] });
      await store.rebuildProjections(workspace);
      expect(await shownTo(other, workspace, viewer(eve))).toEqual(expected);
      await mustAppend(store, foreign, [event('session.handed', { to: 'agent' })], {});
      await mustAppend(store, wide, [event('session.shared', { sharedWith: [] })], {});
      expect(await shownTo(other, workspace, viewer(eve))).toEqual(ids([hidden]));
    });

    test('[SEE9] an imported session belongs to its importer, also after a rebuild, and a fork to the owner of its parent', async () => {
      const { store } = setup;
      const { workspace, hidden } = await workspaceOf(store);
      const fork = newKey(workspace);
      await forkSession(store, hidden, 2, fork, { about: { owner: eve, visibility: 'workspace' } });
      const elsewhere = newWorkspace();
      const here = { ...hidden, workspace: elsewhere };
      await store.importCopies(elsewhere, sendCopies(await copiesOf(store, [hidden])), bob);
      expect((await mustHead(store, here)).summary).toMatchObject({ owner: bob, visibility: 'workspace' });
      await mustAppend(store, here, [event('session.shared', { visibility: 'private', sharedWith: [ada] })], {});
      await store.rebuildProjections(elsewhere);
      const kept = { owner: bob, visibility: 'private', sharedWith: [ada] };
      expect((await mustHead(store, here)).summary).toMatchObject(kept);
      await store.importCopies(elsewhere, sendCopies(await copiesOf(store, [fork])), eve);
      expect((await mustHead(store, { ...fork, workspace: elsewhere })).summary).toMatchObject(kept);
      expect((await store.list(elsewhere, { viewer: viewer(eve), limit: 10 })).sessions).toEqual([]);
    });
  });
