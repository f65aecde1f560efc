import assert from 'node:assert/strict';
import { expect } from 'vitest';
import type { Store } from '../../src/core/ports/store.ts';
import { openRuntime, type Runtime } from '../../src/index.ts';
import { type SessionId, WorkspaceId } from '../../src/schema/ids.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { auditStore, foldsOf, type Ledger, newLedger } from './audit.ts';
import { repeatLast } from './repeat-last.ts';
import { type Acknowledged, isAcknowledged, type Report } from './report.ts';

/** One database that survives many crashes. */
export interface Trial {
  readonly address: string;
  readonly ledger: Ledger;
  readonly acknowledged: Acknowledged[];
  /** Number of appends that a client had to repeat because the crash happened before they landed. */
  cutOff: number;
}

export const newTrial = (address: string): Trial => ({ address, ledger: newLedger(), acknowledged: [], cutOff: 0 });

const reopened = async (address: string, work: (store: Store, runtime: Runtime) => Promise<void>): Promise<void> => {
  const store = await openStoreAt(address);
  const runtime = await openRuntime({ store });
  try {
    await work(store, runtime);
  } finally {
    await runtime.close();
  }
};

/**
 * Reopens the store and checks what the crash left. Then repeats the appends that may have been cut off, and checks
 * again.
 */
export const checkAfterCrash = async (trial: Trial, reports: readonly Report[]): Promise<void> => {
  const { address, ledger } = trial;
  const acknowledged = reports.filter(isAcknowledged);
  await reopened(address, async (store, runtime) => {
    await auditStore(store, ledger, acknowledged);
    trial.cutOff += await repeatLast(runtime, ledger, reports);
    await auditStore(store, ledger, []);
  });
  trial.acknowledged.push(...acknowledged);
};

const withoutSnapshots = (store: Store): Store => overrideStore(store, { snapshot: async () => undefined });

/**
 * Maximum number of sessions to fold, because folding whole logs is slow. Newer sessions include older ones in their
 * lineage.
 */
const foldedSessions = 50;

const checkFolds = async (store: Store, sessions: readonly SessionId[]): Promise<void> => {
  for (const session of sessions.slice(0, foldedSessions)) {
    const key = { workspace: WorkspaceId.parse('local'), session };
    expect(await foldsOf(store).head(key)).toEqual(await foldsOf(withoutSnapshots(store)).head(key));
  }
};

/**
 * Checks everything from the first event on: all acknowledgements, every chain with its inherited part, and folds from
 * snapshots.
 */
export const checkWhole = ({ address, acknowledged, ledger }: Trial): Promise<void> =>
  reopened(address, async (store, { sessions }) => {
    const fresh = newLedger();
    const listed = await auditStore(store, fresh, acknowledged);
    assert.deepEqual(fresh, ledger);
    for (const id of listed) {
      const verified = await (await sessions.get(id)).verify();
      assert.ok(verified.ok, `${id} does not verify: ${JSON.stringify(verified)}`);
    }
    await checkFolds(store, listed);
  });

export const figuresOf = ({ acknowledged, ledger, cutOff }: Trial): string => {
  const events = acknowledged.reduce((sum, each) => sum + each.events.length, 0);
  return `${events} events in ${acknowledged.length} acknowledged appends of ${ledger.sound.size} sessions, none lost; ${cutOff} appends cut off and repeated`;
};
