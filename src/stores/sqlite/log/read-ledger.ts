import type { DatabaseSync } from 'node:sqlite';
import type { LedgerRow } from '../../../core/ports/ledger.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { lazyStatement } from '../file/lazy-statement.ts';

export type ReadLedger = (workspace: WorkspaceId, periods: readonly string[]) => readonly LedgerRow[];

export const openReadLedger = (db: DatabaseSync): ReadLedger => {
  const rows = lazyStatement(
    db,
    `SELECT member, meter, period, used, reserved FROM ledger
     WHERE workspace = ? AND period IN (SELECT value FROM json_each(?)) AND (used <> 0 OR reserved <> 0)
     ORDER BY member, meter, period`,
  );
  return (workspace, periods) => rows().all(workspace, JSON.stringify(['', ...periods])) as unknown as LedgerRow[];
};
