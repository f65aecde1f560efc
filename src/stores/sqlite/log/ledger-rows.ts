import type { DatabaseSync } from 'node:sqlite';
import type { QuotaRefusal } from '../../../core/ports/ledger.ts';
import { quotaError } from '../../../core/session/quota-refusal.ts';
import type { MemberId, WorkspaceId } from '../../../schema/ids.ts';
import { checkImport, checkQuotas, type Quotas, quotaOf } from '../../log/check-quotas.ts';
import type { CountedBytes, Metered } from '../../log/meter.ts';
import { type DayUsage, LedgerCount } from '../../log/recount-ledger.ts';
import { parseState } from '../../log/stored-summary.ts';
import { eachRow } from '../file/each-row.ts';
import { lazyStatement } from '../file/lazy-statement.ts';

/** The rows that quotas are checked against. Every method must run inside a transaction. */
export interface LedgerRows {
  /** Checks the quotas of an append or of blobs and enters its changes. Returns why a quota refuses it. */
  enter(workspace: WorkspaceId, metered: Metered | undefined): QuotaRefusal | undefined;
  /** Counts all rows anew. Removes them if the workspace has no quotas. */
  recount(workspace: WorkspaceId): void;
  /** Counts all rows anew after an import. Throws if the workspace or the owner has more than its quota. */
  recountImport(workspace: WorkspaceId, owner: MemberId | undefined): void;
}

/** Without the charges of bundles, because their usage happened in another store. */
const usageByDay = `SELECT coalesce(member, '') AS member, strftime('%Y-%m-%d', at / 1000, 'unixepoch') AS day,
    sum(input_tokens + output_tokens) AS tokens, sum(CAST(coalesce(usd, 0) * 1e6 + 0.5 AS INTEGER)) AS micros
  FROM charges WHERE workspace = ? AND child IS NULL AND NOT EXISTS (
    SELECT 1 FROM sessions s WHERE s.workspace = charges.workspace AND s.id = charges.session
      AND charges.seq BETWEEN s.imported_from AND s.imported_to)
  GROUP BY 1, 2`;

export const openLedgerRows = (db: DatabaseSync): LedgerRows => {
  const quotaRows = lazyStatement(db, `SELECT id, body FROM records WHERE workspace = ? AND kind = 'quota'`);
  const one = lazyStatement(
    db,
    'SELECT used, reserved FROM ledger WHERE workspace = ? AND member = ? AND meter = ? AND period = ?',
  );
  const add = lazyStatement(
    db,
    `INSERT INTO ledger (workspace, member, meter, period, used, reserved) VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET used = used + excluded.used, reserved = reserved + excluded.reserved`,
  );
  const clear = lazyStatement(db, 'DELETE FROM ledger WHERE workspace = ?');
  const states = lazyStatement(db, 'SELECT summary FROM sessions WHERE workspace = ?');
  const usage = lazyStatement(db, usageByDay);
  const blobs = lazyStatement(
    db,
    'SELECT member, sum(size) AS bytes FROM blobs WHERE workspace = ? AND counted = 1 GROUP BY member',
  );

  const quotasOf = (workspace: WorkspaceId): Quotas =>
    new Map(
      quotaRows()
        .all(workspace)
        .map(({ id, body }) => [String(id), quotaOf(JSON.parse(String(body)))]),
    );
  const rowOf =
    (workspace: WorkspaceId): Parameters<typeof checkQuotas>[2] =>
    ({ member, meter, period }) =>
      one().get(workspace, member, meter, period) as { used: number; reserved: number } | undefined;
  const addAll = (workspace: WorkspaceId, rows: Metered['changes']): void => {
    for (const { member, meter, period, used, reserved } of rows) {
      add().run(workspace, member, meter, period, used, reserved);
    }
  };
  const recount = (workspace: WorkspaceId): Quotas => {
    clear().run(workspace);
    const quotas = quotasOf(workspace);
    if (quotas.size === 0) return quotas;
    const count = new LedgerCount();
    for (const { summary } of eachRow<{ summary: string }>(states(), workspace)) count.addSession(parseState(summary));
    for (const row of eachRow<DayUsage>(usage(), workspace)) count.addUsage(row);
    for (const row of eachRow<CountedBytes>(blobs(), workspace)) count.addBlobs(row);
    addAll(workspace, count.rows());
    return quotas;
  };
  return {
    enter: (workspace, metered) => {
      if (!metered) return undefined;
      const quotas = quotasOf(workspace);
      if (quotas.size === 0) return undefined;
      const refusal = checkQuotas(quotas, metered, rowOf(workspace));
      if (!refusal) addAll(workspace, metered.changes);
      return refusal;
    },
    recount: (workspace) => void recount(workspace),
    recountImport: (workspace, owner) => {
      const refusal = checkImport(recount(workspace), owner, rowOf(workspace));
      if (refusal) throw quotaError(workspace, refusal);
    },
  };
};
