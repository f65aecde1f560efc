import { describe, expect, test } from 'vitest';
import type { LedgerRow, QuotaLimits } from '../../../core/ports/ledger.ts';
import { membersQuota, workspaceQuota } from '../../../core/ports/ledger.ts';
import type { RuntimeStore } from '../../../core/ports/runtime-store.ts';
import type { Store } from '../../../core/ports/store.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import { Actor, type WorkspaceId } from '../../../schema/ids.ts';
import type { Json } from '../../../schema/json.ts';
import { hexOf } from '../../memory-database.ts';
import { copiesOf, sendCopies } from '../bundles/session-copies.ts';
import { type ContractSetup, newKey, newWorkspace } from '../contract-setup.ts';
import { noise, opened, raw } from '../log/new-events.ts';
import { append, mustAppend, openSession } from '../log/session-log.ts';
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

const bytesOf = async (store: Store, workspace: WorkspaceId): Promise<number> =>
  (await rowsOf(store, workspace)).find(({ member, meter }) => member === '' && meter === 'bytes')?.used ?? 0;

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
      await store.importCopies(workspace, sendCopies(await copiesOf(store, [key])));
      const rows = await rowsOf(store, workspace, periods);
      expect(rows).toEqual([
        { member: '', meter: 'bytes', period: '', used: 65_536, reserved: 0 },
        { member: '', meter: 'sessions', period: '', used: 1, reserved: 0 },
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
