import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import type { RuntimeStore } from '../core/ports/runtime-store.ts';
import { describeAppends } from './contract/append.ts';
import { describeBatches } from './contract/batches.ts';
import { describeBlobEvents } from './contract/blob-events.ts';
import { describeBlobs } from './contract/blobs.ts';
import { describeBundles } from './contract/bundles.ts';
import { describeCallQueries } from './contract/call-queries.ts';
import { describeClaims } from './contract/claims.ts';
import { describeCommitQueries } from './contract/commit-queries.ts';
import type { ContractSetup } from './contract/contract-setup.ts';
import { describeDamagedBundles } from './contract/damaged-bundles.ts';
import { describeForks } from './contract/forks.ts';
import { describeHashes } from './contract/hashes.ts';
import { describeKeys } from './contract/keys.ts';
import { describeLeases } from './contract/leases.ts';
import { describeListings } from './contract/listing.ts';
import { describeNotes } from './contract/notes.ts';
import { describeProjections } from './contract/projections.ts';
import { describeQueue } from './contract/queue.ts';
import { describeQueueCopies } from './contract/queue-copies.ts';
import { describeRandomRecords } from './contract/random-records.ts';
import { describeRandomSequences } from './contract/random-sequences.ts';
import { describeReads } from './contract/read.ts';
import { describeClosing, describeSharing } from './contract/sharing.ts';
import { describeSnapshots } from './contract/snapshots.ts';
import { describeTenants } from './contract/tenants.ts';
import { describeTurns } from './contract/turns.ts';
import { describeWakeUps } from './contract/wake-ups.ts';
import { describeWorkWakeUps } from './contract/work-wake-ups.ts';
import { describeWorkers } from './contract/workers.ts';
import { describeWorkspaceRecords } from './contract/workspace-records.ts';
import { describeWorkspaceWakeUps } from './contract/workspace-wake-ups.ts';
import { describeWriters } from './contract/writers.ts';
import type { StoreHarness } from './store-harness.ts';

/**
 * The rules of SPEC.md that every store must keep, as tests. When you write a store, run this suite first, and trust
 * nothing before it passes.
 */
export const describeStoreContract = (name: string, harness: StoreHarness): void => {
  describe(`the store contract: ${name}`, () => {
    let shared: readonly RuntimeStore[] = [];
    const temporary: RuntimeStore[] = [];
    const sharedStore = (index: number): RuntimeStore => {
      const store = shared[index];
      if (!store) throw new Error('stores are open only while tests run');
      return store;
    };
    const setup: ContractSetup = {
      get store() {
        return sharedStore(0);
      },
      get other() {
        return sharedStore(1);
      },
      open: async () => {
        const store = await harness.open();
        temporary.push(store);
        return store;
      },
      tamper: harness.tamper,
    };

    beforeAll(async () => {
      shared = await Promise.all([harness.open(), harness.open()]);
    });
    afterEach(async () => {
      for (const store of temporary.splice(0)) await store.close();
    });
    afterAll(async () => {
      for (const store of shared) await store.close();
      await harness.destroy();
    });

    describeAppends(setup);
    describeTurns(setup);
    describeBatches(setup);
    describeReads(setup);
    describeHashes(setup);
    describeWriters(setup);
    describeKeys(setup);
    describeBlobs(setup);
    describeBlobEvents(setup);
    describeForks(setup);
    describeSnapshots(setup);
    describeListings(setup);
    describeBundles(setup);
    describeDamagedBundles(setup);
    describeCommitQueries(setup);
    describeCallQueries(setup);
    describeProjections(setup);
    describeTenants(setup);
    describeSharing(setup);
    describeWakeUps(setup);
    describeQueue(setup);
    describeLeases(setup);
    describeClaims(setup);
    describeWorkers(setup);
    describeQueueCopies(setup);
    describeWorkWakeUps(setup);
    describeWorkspaceWakeUps(setup);
    describeWorkspaceRecords(setup);
    describeNotes(setup, harness.losesNotes);
    describeClosing(setup);
    describeRandomSequences(setup);
    describeRandomRecords(setup);
  });
};
