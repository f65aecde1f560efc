import { afterAll, afterEach, beforeAll, describe } from 'vitest';
import type { RuntimeStore } from '../core/ports/runtime-store.ts';
import { describeBlobEvents } from './contract/blobs/blob-events.ts';
import { describeBlobs } from './contract/blobs/blobs.ts';
import { describeCountedBlobs } from './contract/blobs/counted-blobs.ts';
import { describeBundles } from './contract/bundles/bundles.ts';
import { describeDamagedBundles } from './contract/bundles/damaged-bundles.ts';
import type { ContractSetup } from './contract/contract-setup.ts';
import { describeAppends } from './contract/log/append.ts';
import { describeBatches } from './contract/log/batches.ts';
import { describeCallQueries } from './contract/log/call-queries.ts';
import { describeCharges } from './contract/log/charges.ts';
import { describeCommitQueries } from './contract/log/commit-queries.ts';
import { describeForks } from './contract/log/forks.ts';
import { describeHashes } from './contract/log/hashes.ts';
import { describeKeys } from './contract/log/keys.ts';
import { describeLedger } from './contract/log/ledger.ts';
import { describeListings } from './contract/log/listing.ts';
import { describeProjections } from './contract/log/projections.ts';
import { describeReads } from './contract/log/read.ts';
import { describeRepeatedCalls } from './contract/log/repeated-calls.ts';
import { describeClosing, describeSharing } from './contract/log/sharing.ts';
import { describeSnapshots } from './contract/log/snapshots.ts';
import { describeTenants } from './contract/log/tenants.ts';
import { describeTurns } from './contract/log/turns.ts';
import { describeViewers } from './contract/log/viewers.ts';
import { describeWriters } from './contract/log/writers.ts';
import { describeClaims } from './contract/queue/claims.ts';
import { describeLeases } from './contract/queue/leases.ts';
import { describeQueue } from './contract/queue/queue.ts';
import { describeQueueCopies } from './contract/queue/queue-copies.ts';
import { describeWorkWakeUps } from './contract/queue/work-wake-ups.ts';
import { describeWorkers } from './contract/queue/workers.ts';
import { describeRandomSequences } from './contract/random/random-sequences.ts';
import { describeRandomRecords } from './contract/records/random-records.ts';
import { describeWorkspaceRecords } from './contract/records/workspace-records.ts';
import { describeNotes } from './contract/waking/notes.ts';
import { describeWakeUps } from './contract/waking/wake-ups.ts';
import { describeWorkspaceWakeUps } from './contract/waking/workspace-wake-ups.ts';
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
    describeViewers(setup);
    describeTurns(setup);
    describeBatches(setup);
    describeReads(setup);
    describeHashes(setup);
    describeWriters(setup);
    describeKeys(setup);
    describeBlobs(setup);
    describeCountedBlobs(setup);
    describeBlobEvents(setup);
    describeForks(setup);
    describeSnapshots(setup);
    describeListings(setup);
    describeBundles(setup);
    describeDamagedBundles(setup);
    describeCommitQueries(setup);
    describeCallQueries(setup);
    describeCharges(setup);
    describeLedger(setup);
    describeRepeatedCalls(setup);
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
