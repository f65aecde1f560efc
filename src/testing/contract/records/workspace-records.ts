import { describe, expect, test } from 'vitest';
import type { RecordQuery, Records, RecordWrite } from '../../../core/ports/records.ts';
import { registryWorkspace, type WorkspaceId } from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import { type ContractSetup, newWorkspace } from '../contract-setup.ts';

const member = (id: string, body: Json = { id }, onVersion = 0): RecordWrite => ({
  kind: 'member',
  id,
  onVersion,
  body,
});

const delivery = (id: string, dueAt?: number): RecordWrite => ({ ...member(id), kind: 'delivery', dueAt });

const versionOf = async (store: Records, workspace: WorkspaceId, id: string): Promise<number> =>
  (await store.record(workspace, 'member', id))!.version;

const idsOf = async (
  store: Records,
  workspace: WorkspaceId,
  query: RecordQuery,
  kind: RecordWrite['kind'] = 'member',
): Promise<readonly string[]> => (await store.records(workspace, kind, query)).map(({ id }) => id);

const text = 'line\nfeed, "quotes", Grüße, 日本語, 🂡';
const bodies: readonly Json[] = [
  null,
  true,
  0.1,
  text,
  [],
  {},
  { b: [1, { [text]: text }], a: null },
  'x'.repeat(100_000),
];

export const describeWorkspaceRecords = (setup: ContractSetup) =>
  describe('records', () => {
    test('[REC1] every store immediately reads a record as it was written, with the time of its write', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const before = await store.now();
      for (const [index, body] of bodies.entries()) {
        expect(await store.writeRecords(workspace, [member(`m${index}`, body)])).toBe(true);
        const read = await other.record(workspace, 'member', `m${index}`);
        expect(read).toEqual({
          kind: 'member',
          id: `m${index}`,
          version: expect.any(Number),
          at: expect.any(Number),
          body,
        });
        expect(read!.at).toBeGreaterThanOrEqual(before);
        expect(read!.at).toBeLessThanOrEqual(await store.now());
        expect((await store.records(workspace, 'member', { limit: 100 })).at(-1)).toEqual(read);
      }
    });

    test('[REC1] the same id under another kind is another record', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await store.writeRecords(workspace, [member('a', 1), { ...member('a', 2), kind: 'secret' }]);
      expect((await store.record(workspace, 'member', 'a'))!.body).toBe(1);
      expect((await store.record(workspace, 'secret', 'a'))!.body).toBe(2);
      expect(await store.record(workspace, 'key', 'a')).toBeUndefined();
      expect(await idsOf(store, workspace, { limit: 10 })).toEqual(['a']);
    });

    test('[REC2] if one write names a stale version, neither it nor the other writes of its batch take effect', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      await store.writeRecords(workspace, [member('a', 1), member('b', 1)]);
      const a = await versionOf(store, workspace, 'a');
      expect(await other.writeRecords(workspace, [member('a', 2, a)])).toBe(true);
      const b = await versionOf(store, workspace, 'b');
      const before = await store.records(workspace, 'member', { limit: 10 });
      for (const wrong of [
        member('a', 3, a),
        member('a', 3, 0),
        member('c', 3, a),
        { ...member('a', 3, a), body: undefined },
        { ...member('c', 3, 7), body: undefined },
      ]) {
        for (const writes of [[wrong], [member('b', 3, b), wrong], [wrong, member('new')]]) {
          expect(await store.writeRecords(workspace, writes)).toBe(false);
        }
      }
      expect(await other.records(workspace, 'member', { limit: 10 })).toEqual(before);
    });

    test('[REC2] a write that contains one record twice is rejected', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      expect(await store.writeRecords(workspace, [member('a'), member('a')])).toBe(false);
      await store.writeRecords(workspace, [member('a')]);
      const a = await versionOf(store, workspace, 'a');
      for (const second of [member('a', 2, a), member('a', 2)]) {
        const gone = { ...member('a', 1, a), body: undefined };
        expect(await store.writeRecords(workspace, [gone, second])).toBe(false);
      }
      expect(await versionOf(store, workspace, 'a')).toBe(a);
    });

    test('[REC2] only one of many concurrent writes on the same version succeeds', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const write = async (onVersion: number) => {
        const tries = Array.from({ length: 20 }, (_, n) =>
          (n % 2 ? store : other).writeRecords(workspace, [
            member(`z${n}`),
            member('a', n, onVersion),
            member(`b${n}`),
          ]),
        );
        const done = (await Promise.all(tries)).flatMap((isDone, n) => (isDone ? [n] : []));
        expect(done).toHaveLength(1);
        expect((await store.record(workspace, 'member', 'a'))!.body).toBe(done[0]);
      };
      await write(0);
      await write(await versionOf(store, workspace, 'a'));
      expect(await idsOf(store, workspace, { limit: 100 })).toHaveLength(5);
    });

    test('[REC3] a removed record is gone, and a new record with the same id reuses none of its versions', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const seen = new Set<number>();
      for (let n = 0; n < 4; n++) {
        await store.writeRecords(workspace, [member('a', n)]);
        const first = await versionOf(other, workspace, 'a');
        await other.writeRecords(workspace, [member('a', n, first)]);
        const second = await versionOf(store, workspace, 'a');
        for (const version of [first, second]) expect(seen.has(version)).toBe(false);
        seen.add(first).add(second);
        const gone = { ...member('a', 1, second), body: undefined };
        expect(await store.writeRecords(workspace, [gone])).toBe(true);
        expect(await other.record(workspace, 'member', 'a')).toBeUndefined();
        expect(await idsOf(other, workspace, { limit: 10 })).toEqual([]);
        expect(await store.writeRecords(workspace, [gone])).toBe(false);
      }
    });

    test('[REC4] records are listed by id, in both directions, in pages', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const ids = ['1', 'B', '_', 'a', 'a.b', 'ab', 'b'];
      await store.writeRecords(
        workspace,
        ids.toReversed().map((id) => member(id)),
      );
      for (const order of ['ascending', 'descending'] as const) {
        const expected = order === 'ascending' ? ids : ids.toReversed();
        expect(await idsOf(store, workspace, { limit: 10, order })).toEqual(expected);
        const paged: string[] = [];
        for (let page = await idsOf(store, workspace, { limit: 2, order }); page.length > 0; ) {
          paged.push(...page);
          page = await idsOf(store, workspace, { limit: 2, order, after: page.at(-1) });
        }
        expect(paged).toEqual(expected);
      }
      expect(await idsOf(store, workspace, { limit: 1, after: 'a.' })).toEqual(['a.b']);
    });

    test('[REC4] due records are found, earliest first, and others are not', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      const given = [
        delivery('d', 3_000),
        delivery('b', 1_000),
        delivery('a', 1_000),
        delivery('c', 2_000),
        delivery('e'),
      ];
      await store.writeRecords(workspace, given);
      const due = (dueBy: number, limit = 10) => idsOf(store, workspace, { dueBy, limit }, 'delivery');
      expect(await due(999)).toEqual([]);
      expect(await due(2_999)).toEqual(['a', 'b', 'c']);
      expect(await due(9_999, 2)).toEqual(['a', 'b']);
      expect(await idsOf(store, workspace, { dueBy: 9_999, limit: 10 }, 'member')).toEqual([]);
      const [a] = await store.records(workspace, 'delivery', { limit: 1 });
      expect(a!.dueAt).toBe(1_000);
      await store.writeRecords(workspace, [{ ...delivery('a'), onVersion: a!.version }]);
      expect(await due(9_999)).toEqual(['b', 'c', 'd']);
      expect((await store.record(workspace, 'delivery', 'a'))!.dueAt).toBeUndefined();
    });

    test('[REC1, TEN1] records of another workspace are invisible and cause no conflicts', async () => {
      const { store } = setup;
      const [mine, theirs] = [newWorkspace(), newWorkspace()];
      await store.writeRecords(mine, [member('a', 'mine'), delivery('d', 1)]);
      expect(await store.record(theirs, 'member', 'a')).toBeUndefined();
      expect(await store.records(theirs, 'member', { limit: 10 })).toEqual([]);
      expect(await store.records(theirs, 'delivery', { limit: 10, dueBy: 9 })).toEqual([]);
      const version = await versionOf(store, mine, 'a');
      expect(await store.writeRecords(theirs, [member('a', 'theirs', version)])).toBe(false);
      expect(await store.writeRecords(theirs, [member('a', 'theirs')])).toBe(true);
      expect((await store.record(mine, 'member', 'a'))!.body).toBe('mine');
    });

    test('[REC1, TEN1] the list of workspaces is stored outside of every workspace', async () => {
      const { store, other } = setup;
      const name = newWorkspace();
      expect(await store.writeRecords(registryWorkspace, [{ ...member(name), kind: 'workspace' }])).toBe(true);
      expect(await other.record(registryWorkspace, 'workspace', name)).toBeDefined();
      expect(await other.record(name, 'workspace', name)).toBeUndefined();
    });
  });
