import type { LedgerRow } from '../core/ports/ledger.ts';
import { microsOf } from '../core/session/account.ts';
import { checkImport, LedgerState, type Quotas, quotaOf } from '../stores/log/check-quotas.ts';
import { ledgerKeyName, type Metered, periodsOf } from '../stores/log/meter.ts';
import { LedgerCount } from '../stores/log/recount-ledger.ts';
import type { MemoryWorkspace } from './memory-database.ts';

const quotasIn = ({ records }: MemoryWorkspace): Quotas =>
  new Map([...records.values()].flatMap(({ kind, id, body }) => (kind === 'quota' ? [[id, quotaOf(body)]] : [])));

export const enterLedger = (workspace: MemoryWorkspace, metered: Metered | undefined) => {
  const quotas = quotasIn(workspace);
  return metered && quotas.size > 0 ? new LedgerState(quotas, workspace.ledger).enter(metered) : undefined;
};

/** Counts all rows anew. Removes them if there are no quotas. */
export const recountIn = (workspace: MemoryWorkspace): void => {
  const { ledger, sessions, blobs, countedBlobs } = workspace;
  ledger.clear();
  if (quotasIn(workspace).size === 0) return;
  const count = new LedgerCount();
  for (const [hash, member] of countedBlobs) count.addBlobs({ member, bytes: blobs.get(hash)?.length ?? 0 });
  for (const { head, charges, events } of sessions.values()) {
    count.addSession(head);
    for (const { child, seq, member = '', at, inputTokens, outputTokens, usd = 0 } of charges) {
      // The usage of a bundle happened in another store.
      if (child !== undefined || events.get(seq)?.imported) continue;
      const [day] = periodsOf(at);
      count.addUsage({ member, day, tokens: inputTokens + outputTokens, micros: microsOf(usd) });
    }
  }
  for (const row of count.rows()) ledger.set(ledgerKeyName(row), row);
};

export const importRefusalIn = (workspace: MemoryWorkspace, owner: string | undefined) =>
  checkImport(quotasIn(workspace), owner, (key) => workspace.ledger.get(ledgerKeyName(key)));

const text = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

export const ledgerIn = ({ ledger }: MemoryWorkspace, periods: readonly string[]): readonly LedgerRow[] =>
  [...ledger.values()]
    .filter(
      ({ period, used, reserved }) => (period === '' || periods.includes(period)) && (used !== 0 || reserved !== 0),
    )
    .sort((a, b) => text(a.member, b.member) || text(a.meter, b.meter) || text(a.period, b.period));
