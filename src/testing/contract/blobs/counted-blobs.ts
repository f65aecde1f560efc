import { describe, expect, test } from 'vitest';
import type { LedgerRow, QuotaLimits } from '../../../core/ports/ledger.ts';
import { membersQuota, workspaceQuota } from '../../../core/ports/ledger.ts';
import type { RuntimeStore } from '../../../core/ports/runtime-store.ts';
import type { Store } from '../../../core/ports/store.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import { Actor, MemberId, type WorkspaceId } from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import { hexOf } from '../../memory-database.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { noise, opened, raw } from '../log/new-events.ts';
import { append, forkSession, mustAppend, openSession } from '../log/session-log.ts';
import { answered, runWriter } from '../records/record-events.ts';

const blobOf = (size: number, seed: number) => {
  const bytes = noise(size, seed);
  return { hash: hexOf(blobHash(bytes)), bytes };
};

const setQuota = async (store: RuntimeStore, workspace: WorkspaceId, limits: QuotaLimits, id = workspaceQuota) => {
  const onVersion = (await store.record(workspace, 'quota', id))?.version ?? 0;
  const body = { id, limits } as unknown as Json;
  expect(await store.writeRecords(workspace, [{ kind: 'quota', id, onVersion, body }])).toBe(true);
};

const rowsOf = (store: Store, workspace: WorkspaceId, periods: readonly string[] = []): Promise<readonly LedgerRow[]> =>
  store.ledger(workspace, periods);

const bytesOf = async (store: Store, workspace: WorkspaceId, whose = ''): Promise<number> =>
  (await rowsOf(store, workspace)).find(({ member, meter }) => member === whose && meter === 'bytes')?.used ?? 0;

/** A rebuild and a new quota must both count what the ledger holds. */
const expectRecounted = async (store: RuntimeStore, workspace: WorkspaceId) => {
  const before = await rowsOf(store, workspace);
  await store.rebuildProjections(workspace);
  expect(await rowsOf(store, workspace)).toEqual(before);
  await setQuota(store, workspace, { runs: 100 }, membersQuota);
  expect(await rowsOf(store, workspace)).toEqual(before);
};

const refusal = { code: 'QUOTA_EXCEEDED', details: { quota: 'bytes' } };

export const describeCountedBlobs = (setup: ContractSetup) =>
  describe('blobs in the ledger', () => {
    test('[QUO16] a blob counts once, with its size before compression, and those put before the first quota count', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const [early, late] = [blobOf(1000, 1), blobOf(2000, 2)];
      await store.putBlobs(workspace, [early, early]);
      expect(await rowsOf(store, workspace)).toEqual([]);
      await setQuota(store, workspace, { bytes: 100_000 });
      expect(await bytesOf(store, workspace)).toBe(1000);
      await store.putBlobs(workspace, [early, late, late]);
      await other.putBlobs(workspace, [late]);
      const zeros = new Uint8Array(50_000);
      await store.putBlobs(workspace, [{ hash: hexOf(blobHash(zeros)), bytes: zeros }]);
      expect(await bytesOf(store, workspace)).toBe(53_000);
      expect(await bytesOf(store, newWorkspace())).toBe(0);
      await expectRecounted(store, workspace);
    });

    test('[QUO16] blobs beyond the quota are refused as a whole, but those that are stored already never are', async () => {
      const { store } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, { bytes: 5000 });
      const [kept, small, large] = [blobOf(4000, 3), blobOf(500, 4), blobOf(2000, 5)];
      await store.putBlobs(workspace, [kept]);
      await expect(store.putBlobs(workspace, [small, large])).rejects.toMatchObject({
        ...refusal,
        details: { quota: 'bytes', used: 4000, asked: 2500, limit: 5000, workspace },
      });
      expect(await store.hasBlobs(workspace, [small.hash, large.hash])).toEqual(new Set());
      await setQuota(store, workspace, { bytes: 100 });
      await store.putBlobs(workspace, [kept]);
      await expect(store.putBlobs(workspace, [small])).rejects.toMatchObject(refusal);
      expect(await bytesOf(store, workspace)).toBe(4000);
      await expectRecounted(store, workspace);
    });

    test('[QUO16] of many uploads at once, no more than the quota allows land, whichever process makes them', async () => {
      const workspace = newWorkspace();
      await setQuota(setup.store, workspace, { bytes: 5500 });
      const results = await Promise.allSettled(
        Array.from({ length: 12 }, (_, at) =>
          (at % 2 ? setup.other : setup.store).putBlobs(workspace, [blobOf(1000, 10 + at)]),
        ),
      );
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
      for (const each of results) if (each.status === 'rejected') expect(each.reason).toMatchObject(refusal);
      const same = blobOf(400, 9);
      await Promise.all([setup.store, setup.other].map((store) => store.putBlobs(workspace, [same])));
      expect(await bytesOf(setup.other, workspace)).toBe(5400);
      await expectRecounted(setup.store, workspace);
    });

    test('[QUO16] removed blobs give their room back', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, { bytes: 5000 });
      const blobs = [blobOf(3000, 30), blobOf(2000, 31)];
      await store.putBlobs(workspace, blobs);
      const usedBefore = (await store.now()) + 120_000;
      await other.removeBlobs(workspace, [blobs[0]!.hash, blobOf(1, 33).hash], usedBefore);
      expect(await bytesOf(store, workspace)).toBe(2000);
      await expectRecounted(store, workspace);
      await store.putBlobs(workspace, [blobOf(3000, 32)]);
      expect(await bytesOf(store, workspace)).toBe(5000);
      await store.removeBlobs(workspace, [], usedBefore);
      expect(await bytesOf(store, workspace)).toBe(5000);
    });

    test('[QUO19] a blob counts for the member who stored it first, until it is removed', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      const [early, shared, own] = [blobOf(1000, 50), blobOf(2000, 51), blobOf(400, 52)];
      await store.putBlobs(workspace, [early], 'mia');
      await store.putBlobs(workspace, [blobOf(70, 53)]);
      await setQuota(store, workspace, { bytes: 100_000 });
      await store.putBlobs(workspace, [shared, shared], 'ann');
      await other.putBlobs(workspace, [shared, early, own], 'mia');
      await other.putBlobs(workspace, [own], 'ann');
      const bytes = () => Promise.all(['', 'ann', 'mia'].map((member) => bytesOf(store, workspace, member)));
      expect(await bytes()).toEqual([3470, 2000, 1400]);
      await expectRecounted(store, workspace);
      const usedBefore = (await store.now()) + 120_000;
      await other.removeBlobs(workspace, [shared.hash, own.hash], usedBefore);
      expect(await bytes()).toEqual([1070, 0, 1000]);
      // The content is new again, so it counts for the member who stores it now.
      await store.putBlobs(workspace, [shared], 'mia');
      expect(await bytes()).toEqual([3070, 0, 3000]);
      await expectRecounted(store, workspace);
    });

    test('[QUO19, QUO12] blobs beyond the quota of a member are refused, and those of other members are not', async () => {
      const { store, other } = setup;
      const workspace = newWorkspace();
      await setQuota(store, workspace, { bytes: 5000 }, membersQuota);
      await store.putBlobs(workspace, [blobOf(4000, 60)], 'mia');
      const more = blobOf(2000, 61);
      await expect(other.putBlobs(workspace, [more], 'mia')).rejects.toMatchObject({
        code: 'QUOTA_EXCEEDED',
        message: expect.stringContaining('`perdure quotas set mia --bytes …`'),
        details: { quota: 'bytes', member: 'mia', used: 4000, asked: 2000, limit: 5000, changedBy: 'admin' },
      });
      expect(await store.hasBlobs(workspace, [more.hash])).toEqual(new Set());
      await store.putBlobs(workspace, [more], 'ann');
      await other.putBlobs(workspace, [more], 'mia');
      const uploads = Array.from({ length: 6 }, (_, at) =>
        (at % 2 ? store : other).putBlobs(workspace, [blobOf(300, 62 + at)], 'mia'),
      );
      const results = await Promise.allSettled(uploads);
      expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(3);
      await expectRecounted(store, workspace);
    });

    test('[QUO19] a large payload that a member also stores as a file counts for both', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      await setQuota(store, key.workspace, { bytes: 1_000_000 });
      const large = blobOf(70_000, 70);
      await mustAppend(store, key, [raw(large.bytes)]);
      await store.putBlobs(key.workspace, [large], 'mia');
      expect(await bytesOf(store, key.workspace, 'mia')).toBe(70_000);
      await expectRecounted(store, key.workspace);
    });

    test('[QUO17] an import counts for the member who makes it, and is refused beyond their quota', async () => {
      const { store } = setup;
      const key = newKey();
      await openSession(store, key);
      const fork = newKey(key.workspace);
      await forkSession(store, key, 1, fork);
      const workspace = newWorkspace();
      await setQuota(store, workspace, { sessions: 1 }, membersQuota);
      const owner = MemberId.parse('mia');
      const copies = async () => sendCopies(await copiesOf(store, [key, fork]));
      await expect(store.importCopies(workspace, await copies(), owner)).rejects.toMatchObject({
        code: 'QUOTA_EXCEEDED',
        details: { quota: 'sessions', member: 'mia', limit: 1 },
      });
      await setQuota(store, workspace, { sessions: 2 }, membersQuota);
      await store.importCopies(workspace, await copies(), owner);
      expect(await bytesOf(store, workspace, 'mia')).toBe(131_072);
      await expectRecounted(store, workspace);
      await mustAppend(store, { ...key, workspace }, [raw(noise(70_000, 80))]);
      expect(await bytesOf(store, workspace, 'mia')).toBe(131_072 + 65_536);
      await expectRecounted(store, workspace);
    });

    test('[QUO16] a large payload counts with its log alone, unless it is also a file, and a fold snapshot not at all', async () => {
      const { store } = setup;
      const key = newKey();
      const { workspace } = key;
      await openSession(store, key);
      await setQuota(store, workspace, { bytes: 1_000_000 });
      const large = blobOf(70_000, 40);
      await mustAppend(store, key, [raw(large.bytes)]);
      await store.putSnapshot(key, { seq: 2, foldVersion: 1, parts: { big: noise(30_000, 41) } });
      expect(await bytesOf(store, workspace)).toBe(131_072);
      await store.putBlobs(workspace, [large]);
      expect(await bytesOf(store, workspace)).toBe(131_072 + 70_000);
      await expectRecounted(store, workspace);
    });

    test('[QUO17] the usage that a bundle reports counts neither for the workspace nor for a member', async () => {
      const { store } = setup;
      const key = newKey();
      const at = Date.UTC(2026, 10, 30, 12);
      const periods = ['2026-11-30', '2026-11'];
      const first = { ...opened(), actor: Actor.parse('member:mia') };
      expect(await append(store, key, [first], { creates: {}, at })).toMatchObject({ outcome: 'appended' });
      const used = { inputTokens: 700, outputTokens: 300, usd: 5 };
      await mustAppend(store, key, [answered(used, { member: 'mia' })], { writer: runWriter, at });
      const workspace = newWorkspace();
      await setQuota(store, workspace, { tokensPerDay: 100, usdPerMonth: 1 });
      await store.importCopies(workspace, sendCopies(await copiesOf(store, [key])), MemberId.parse('ann'));
      const rows = await rowsOf(store, workspace, periods);
      expect(rows).toEqual([
        { member: '', meter: 'bytes', period: '', used: 65_536, reserved: 0 },
        { member: '', meter: 'sessions', period: '', used: 1, reserved: 0 },
        { member: 'ann', meter: 'bytes', period: '', used: 65_536, reserved: 0 },
        { member: 'ann', meter: 'sessions', period: '', used: 1, reserved: 0 },
      ]);
      // What the session uses here counts, as soon as it goes on.
      const own = { inputTokens: 7, outputTokens: 3, usd: 0.5 };
      const here = { ...key, workspace };
      await mustAppend(store, here, [answered(own, { member: 'mia' })], { writer: runWriter, at });
      const after = await rowsOf(store, workspace, periods);
      expect(after.filter(({ meter }) => meter === 'tokens').map(({ used }) => used)).toEqual([10, 10, 10, 10]);
      await store.rebuildProjections(workspace);
      expect(await rowsOf(store, workspace, periods)).toEqual(after);
    });
  });
