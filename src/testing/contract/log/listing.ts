import { describe, expect, test } from 'vitest';
import type { SessionValue } from '../../../core/ports/session-value.ts';
import type { ListQuery, SessionKey, Store } from '../../../core/ports/store.ts';
import { metadataValue, valuesOf } from '../../../core/session/session-values.ts';
import { newId, type SessionId, type WorkspaceId } from '../../../schema/ids.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { event, message, opened, rawText } from './new-events.ts';
import { expectSound, forkSession, mustAppend, mustHead, openSession } from './session-log.ts';

const ids = (sessions: readonly { readonly id: string }[]): readonly string[] => sessions.map(({ id }) => id);

const listAll = async (store: Store, workspace: WorkspaceId, query: ListQuery): Promise<readonly SessionSummary[]> => {
  const all: SessionSummary[] = [];
  for (let after: ListQuery['after']; ; ) {
    const { sessions: page, next } = await store.list(workspace, { ...query, after });
    expect(page.length).toBeLessThanOrEqual(query.limit);
    for (const { id } of page) expect(ids(all)).not.toContain(id);
    all.push(...page);
    if (!next) return all;
    after = next;
  }
};

export const describeListings = (setup: ContractSetup) =>
  describe('list and family', () => {
    test('[FOLD5] sessions are listed by latest change first; among equal times, the higher id comes first', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const [a, b, c, d] = [0, 1, 2, 3].map(() => newKey(workspace)) as [
        SessionKey,
        SessionKey,
        SessionKey,
        SessionKey,
      ];
      await openSession(store, a, { at: 1_000 });
      await openSession(store, b, { at: 3_000 });
      await openSession(store, c, { at: 2_000 });
      await openSession(store, d, { at: 2_000 });
      expect(ids((await store.list(workspace, { limit: 10 })).sessions)).toEqual(
        [b, d, c, a].map(({ session }) => session),
      );
      await mustAppend(store, a, [rawText('x')], { at: 4_000 });
      expect(ids((await store.list(workspace, { limit: 2 })).sessions)).toEqual([a, b].map(({ session }) => session));
    });

    test('[FOLD5] pages of any size list every session once, even with equal times', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const keys = Array.from({ length: 12 }, () => newKey(workspace));
      await Promise.all(keys.map((key, i) => openSession(store, key, { at: 1_000 + (i % 3) })));
      const whole = (await store.list(workspace, { limit: 100 })).sessions;
      expect(new Set(ids(whole)).size).toBe(12);
      for (const limit of [1, 2, 5, 11, 12, 13]) expect(await listAll(store, workspace, { limit })).toEqual(whole);
    });

    test('[FOLD5] a listing can be filtered by status, in pages too', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const keys = Array.from({ length: 9 }, () => newKey(workspace));
      for (const [i, key] of keys.entries()) {
        await openSession(store, key, { at: 1_000 + i });
        if (i % 3 === 1) await mustAppend(store, key, [message('a', 'next')], { at: 1_000 + i });
        if (i % 3 === 2) await mustAppend(store, key, [event('session.closed', {})], { at: 1_000 + i });
      }
      const of = (...rests: readonly number[]) =>
        keys
          .filter((_, i) => rests.includes(i % 3))
          .map(({ session }) => session)
          .toReversed();
      const listed = async (status: ListQuery['status']) => ids(await listAll(store, workspace, { limit: 2, status }));
      expect(await listed(['open'])).toEqual(of(0));
      expect(await listed(['active'])).toEqual(of(1));
      expect(await listed(['closed', 'open'])).toEqual(of(0, 2));
      expect(await listed(['archived'])).toEqual([]);
      expect(await listed([])).toEqual([]);
      expect(await listed(undefined)).toEqual(of(0, 1, 2));
    });

    test('[LIST1, LIST2] a listing can be filtered by values and time, alone and combined, in pages too', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const keys = Array.from({ length: 24 }, () => newKey(workspace));
      for (const [i, key] of keys.entries()) {
        const about = {
          ...(i % 2 === 0 && { agent: { name: 'coder', version: 1 } }),
          metadata: { even: i % 2 === 0, n: i % 3, 'a "key"': 'x'.repeat(300) + (i % 4), list: [i], none: null },
        };
        await mustAppend(store, key, [opened(about)], { creates: {}, at: 1_000 + i });
        if (i % 6 === 5) await mustAppend(store, key, [event('session.closed', {})], { at: 1_000 + i });
      }
      const agent = [{ name: 'agent', value: 'coder' }];
      const of = (isListed: (i: number) => boolean) =>
        keys
          .filter((_, i) => isListed(i))
          .map(({ session }) => session)
          .toReversed();
      const cases: readonly [Partial<ListQuery>, (i: number) => boolean][] = [
        [{ where: [agent] }, (i) => i % 2 === 0],
        [{ where: [[metadataValue('n', 1)]] }, (i) => i % 3 === 1],
        [{ where: [[metadataValue('n', '1')]] }, () => false],
        [{ where: [[metadataValue('list', 1)]] }, () => false],
        [{ where: [[metadataValue('none', null)]], since: 1_004, until: 1_008 }, (i) => i >= 4 && i <= 8],
        [{ where: [[metadataValue('a "key"', `${'x'.repeat(300)}2`)]] }, (i) => i % 4 === 2],
        [{ where: [agent, [metadataValue('n', 0), metadataValue('n', 1)]] }, (i) => i % 2 === 0 && i % 3 < 2],
        [{ where: [[...agent, metadataValue('n', 2)]], since: 1_010 }, (i) => i >= 10 && (i % 2 === 0 || i % 3 === 2)],
        [{ where: [[metadataValue('n', 2)]], status: ['closed'] }, (i) => i % 6 === 5],
        [{ where: [agent], status: ['closed'] }, () => false],
        [{ where: [[]] }, () => false],
        [{ until: 1_003 }, (i) => i <= 3],
      ];
      for (const [query, isListed] of cases) {
        for (const limit of [1, 5, 100]) {
          expect(ids(await listAll(store, workspace, { ...query, limit })), JSON.stringify(query)).toEqual(
            of(isListed),
          );
          const byId = await listAll(store, workspace, { ...query, limit, by: 'id' });
          expect(ids(byId), JSON.stringify(query)).toEqual(of(isListed).toSorted());
        }
      }
    });

    test('[LIST1] a value that changes moves its session between listings', async () => {
      const { store } = setup;
      const key = newKey();
      const listed = async (query: Partial<ListQuery>) =>
        (await store.list(key.workspace, { ...query, limit: 10 })).sessions.length;
      await mustAppend(store, key, [opened({ metadata: { env: 'test' } })], { creates: {}, at: 1_000 });
      expect(await listed({ where: [[metadataValue('env', 'test')]] })).toBe(1);
      await mustAppend(store, key, [event('session.described', { metadata: { env: 'live' } })], { at: 2_000 });
      await mustAppend(store, key, [event('session.paused', {})], { at: 900_000 });
      expect(await listed({ where: [[metadataValue('env', 'test')]] })).toBe(0);
      expect(await listed({ where: [[metadataValue('env', 'live')]], status: ['paused'], since: 900_000 })).toBe(1);
      expect(await listed({ status: ['open'] })).toBe(0);
      expect(await listed({ until: 899_999 })).toBe(0);
      const { summary } = await mustHead(store, key);
      const inOrder = (values: readonly SessionValue[]) => values.map(({ name, value }) => `${name} ${value}`).sort();
      expect(inOrder(await store.values(key))).toEqual(inOrder(valuesOf(summary)));
    });

    test('[LIST1] a listing of more sessions than a span holds is sorted and complete, in pages too', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const keys = Array.from({ length: 450 }, () => newKey(workspace));
      await Promise.all(keys.map((key, i) => openSession(store, key, { at: 1_000 + ((i * 7) % 450) })));
      // Sessions with a wide, a narrow and an exact place change again, and some move to a later span.
      for (const [i, at] of [5_000, 9_000, 30_000, 700_000].entries()) {
        const changed = keys.filter((_, place) => place % 9 === i);
        await Promise.all(changed.map((key) => mustAppend(store, key, [rawText('x')], { at })));
      }
      const all = await listAll(store, workspace, { limit: 60 });
      expect(all).toHaveLength(450);
      const sorted = all.toSorted((a, b) => b.updatedAt - a.updatedAt || (a.id < b.id ? 1 : -1));
      expect(ids(all)).toEqual(ids(sorted));
      for (const key of keys.slice(0, 9)) expect((await mustHead(store, key)).isListed).toBe(true);
    });

    test('[LIST3] a listing finds ids by their beginning, and by their end from 4 characters on', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const names = ['0aaaaaaaaaaaaaaaaaaaaaaa11', '0aaaaaaaaaaaaaaaaaaaaabb11', '0bbbbbbbbbbbbbbbbbbbbbbb11'];
      const [first, second, third] = names.map((name) => `ses_${name}` as SessionId) as [
        SessionId,
        SessionId,
        SessionId,
      ];
      for (const session of [third, first, second]) await openSession(store, { workspace, session });
      await openSession(store, { workspace: newWorkspace(), session: first });
      const found = async (idPart: string, query: Partial<ListQuery> = {}) =>
        ids(await listAll(store, workspace, { limit: 1, by: 'id', idPart, ...query }));
      expect(await found('0')).toEqual([first, second, third]);
      expect(await found('0a')).toEqual([first, second]);
      expect(await found('bb11')).toEqual([second, third]);
      expect(await found('b11')).toEqual([]);
      expect(await found('bbbbbbbbbbbbbbbbbbbbbb11')).toEqual([third]);
      expect(await found('abb11')).toEqual([second]);
      expect(await found('0_aa')).toEqual([]);
      expect(await found('0', { status: ['closed'] })).toEqual([]);
    });

    test('[HASH7] a listing by id returns every session once, in pages of any size and filtered by status too', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const keys = Array.from({ length: 7 }, () => newKey(workspace));
      await Promise.all(keys.map((key, i) => openSession(store, key, { at: 1_000 + (i % 2) })));
      await mustAppend(store, keys[3]!, [event('session.closed', {})]);
      const byId = keys.map(({ session }) => session).sort();
      for (const limit of [1, 3, 7, 8]) {
        expect(ids(await listAll(store, workspace, { limit, by: 'id' }))).toEqual(byId);
      }
      expect(ids(await listAll(store, workspace, { limit: 1, by: 'id', status: ['closed'] }))).toEqual([
        keys[3]!.session,
      ]);
    });

    test('[FOLD5] the summary in a listing equals the fold of the log', async () => {
      const { store } = setup;
      const key = newKey();
      const about = {
        title: 'Ünïcödé "title"',
        agent: { name: 'coder', version: 3 },
        metadata: { a: [1, { b: null }] },
      };
      await mustAppend(store, key, [opened(about), message('a', 'next')], { creates: {}, at: 1_000 });
      await mustAppend(store, key, [message('b'), message('c', 'next'), rawText('d')], { at: 2_000 });
      await mustAppend(store, key, [event('session.described', { title: 'new' })], { at: 3_000 });
      await mustAppend(store, key, [event('session.rewound', { to: 2, messages: 1 }, 1)], { at: 4_000 });
      await mustAppend(store, key, [event('session.paused', {})], { at: 5_000 });
      const child = newKey(key.workspace);
      await forkSession(store, key, 3, child, { at: 6_000, about: { title: 'child', midTurn: true, messages: 2 } });
      for (const each of [key, child]) await expectSound(store, each);
      const [newest, older] = (await store.list(key.workspace, { limit: 10 })).sessions;
      expect(older).toEqual({
        id: key.session,
        ...about,
        title: 'new',
        status: 'paused',
        holder: 'agent',
        seq: 8,
        turn: 1,
        lastTurn: 2,
        messages: 1,
        rewound: true,
        visibility: 'workspace',
        createdAt: 1_000,
        updatedAt: 5_000,
      });
      expect(newest).toMatchObject({ id: child.session, title: 'child', status: 'paused', parent: key.session });
      expect(older).toEqual((await mustHead(store, key)).summary);
      expect(newest).toEqual((await mustHead(store, child)).summary);
    });

    test('[FORK1] the family of any member contains all its sessions, in the order in which they were created', async () => {
      const { store } = setup;
      const root = newKey();
      await openSession(store, root);
      await openSession(store, newKey(root.workspace));
      const made = [root];
      for (const parent of [0, 0, 1, 2, 3]) {
        const child = newKey(root.workspace);
        await forkSession(store, made[parent]!, 1, child);
        made.push(child);
      }
      await mustAppend(store, root, [rawText('x')], { at: 9_000 });
      const heads = await Promise.all(made.map((key) => mustHead(store, key)));
      const members = heads.map(({ session, parent, summary }) => ({ session, parent, summary }));
      for (const key of made) expect(await store.family(key)).toEqual(members);
    });

    test('[FORK7] a family lists parents before their children, even children made by a clock that was behind', async () => {
      const { store } = setup;
      const byId = Array.from({ length: 4 }, () => newId('ses')).sort();
      const { workspace } = newKey();
      const [grandchild, child, root, sibling] = byId.map((session) => ({ workspace, session }));
      await openSession(store, root!, { at: 1_000 });
      await mustAppend(store, root!, [rawText('x')], { at: 5_000 });
      await forkSession(store, root!, 2, child!, { at: 0 });
      await forkSession(store, child!, 1, grandchild!, { at: 0 });
      await forkSession(store, root!, 1, sibling!, { at: 2_000 });
      const family = (await store.family(sibling!)).map(({ session }) => session);
      expect(family).toEqual([root, child, grandchild, sibling].map((key) => key!.session));
    });
  });
