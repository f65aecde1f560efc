import {
  type LedgerKey,
  type LedgerRow,
  memberQuota,
  membersQuota,
  type QuotaLimits,
  type QuotaRefusal,
  workspaceQuota,
} from '../../core/ports/ledger.ts';
import { microsOf } from '../../core/session/account.ts';
import { ledgerKeyName, type Metered } from './meter.ts';

/** The quotas of a workspace, by the id of their record. Empty if there are none, and then no ledger is kept. */
export type Quotas = ReadonlyMap<string, QuotaLimits>;

/** Reads the limits from a record. Unknown fields, which a later release may write, are ignored. */
export const quotaOf = (body: unknown): QuotaLimits =>
  typeof body === 'object' && body !== null && 'limits' in body ? ((body.limits ?? {}) as QuotaLimits) : {};

type PeriodQuota = 'tokensPerDay' | 'tokensPerMonth' | 'usdPerDay' | 'usdPerMonth';

const quotaName = ({ meter, period }: LedgerKey): 'sessions' | 'bytes' | 'runs' | PeriodQuota =>
  meter === 'tokens' || meter === 'usd' ? `${meter}Per${period.length === 7 ? 'Month' : 'Day'}` : meter;

/** The value of a field for the workspace, or for a member: their own, or else the default of members. */
export const limitFor = <Field extends keyof QuotaLimits>(
  quotas: Quotas,
  member: string,
  field: Field,
): QuotaLimits[Field] =>
  member === ''
    ? quotas.get(workspaceQuota)?.[field]
    : (quotas.get(memberQuota(member))?.[field] ?? quotas.get(membersQuota)?.[field]);

/** When the period ends, in UTC. */
export const endOfPeriod = (period: string): number | undefined => {
  const [year, month, day] = period.split('-').map(Number);
  if (!year || !month) return undefined;
  return day === undefined ? Date.UTC(year, month) : Date.UTC(year, month - 1, day + 1);
};

const whose = (member: string | undefined): { member?: string } => (member ? { member } : {});

const excluded = (quotas: Quotas, { uses }: Metered): QuotaRefusal | undefined => {
  if (!uses) return undefined;
  for (const member of uses.member ? ['', uses.member] : ['']) {
    for (const [quota, name] of [
      ['agents', uses.agent],
      ['models', uses.model],
    ] as const) {
      const allowed = limitFor(quotas, member, quota);
      if (name !== undefined && allowed && !allowed.includes(name)) {
        return { kind: 'excluded', quota, ...whose(member), name, allowed };
      }
    }
  }
  return undefined;
};

/**
 * Decides whether the quotas allow an append. Every store shares this rule. `rowOf` reads rows of the ledger in the
 * append's own transaction, and no other append may change them until it ends.
 */
export const checkQuotas = (
  quotas: Quotas,
  metered: Metered,
  rowOf: (key: LedgerKey) => Pick<LedgerRow, 'used' | 'reserved'> | undefined,
): QuotaRefusal | undefined => {
  if (quotas.size === 0) return undefined;
  const wrong = excluded(quotas, metered);
  if (wrong) return wrong;
  const changes = new Map(metered.changes.map((row) => [ledgerKeyName(row), row]));
  // Those of the workspace first, because only they concern everybody.
  for (const key of metered.checks.toSorted((a, b) => Number(a.member !== '') - Number(b.member !== ''))) {
    const quota = quotaName(key);
    const set = limitFor(quotas, key.member, quota);
    if (set === undefined) continue;
    const model = metered.uses?.model;
    if (key.meter === 'usd' && !metered.uses?.isPriced && model !== undefined) {
      return { kind: 'unpriced', quota: quota as 'usdPerDay', ...whose(key.member), name: model, limit: set };
    }
    const limit = key.meter === 'usd' ? microsOf(set) : set;
    const row = rowOf(key) ?? { used: 0, reserved: 0 };
    const change = changes.get(ledgerKeyName(key)) ?? { used: 0, reserved: 0 };
    const used = row.used + row.reserved;
    const asked = change.used + change.reserved;
    if (used + asked <= limit) continue;
    const scale = key.meter === 'usd' ? 1e6 : 1;
    return {
      kind: 'exceeded',
      quota,
      ...whose(key.member),
      used: used / scale,
      asked: asked / scale,
      limit: set,
      resetsAt: endOfPeriod(key.period),
    };
  }
  return undefined;
};

/** Decides whether the quotas allow what an import by `owner` has added. */
export const checkImport = (
  quotas: Quotas,
  owner: string | undefined,
  rowOf: Parameters<typeof checkQuotas>[2],
): QuotaRefusal | undefined => {
  const checks = (owner ? ['', owner] : ['']).flatMap((member) =>
    (['sessions', 'bytes'] as const).map((meter) => ({ member, meter, period: '' })),
  );
  return checkQuotas(quotas, { changes: [], checks }, rowOf);
};

/** The rows of a ledger in memory, as an append sees them, and their quotas. */
export class LedgerState {
  readonly #quotas: Quotas;
  readonly #rows: Map<string, LedgerRow>;

  constructor(quotas: Quotas, rows: Map<string, LedgerRow>) {
    this.#quotas = quotas;
    this.#rows = rows;
  }

  /** Checks the quotas of an append and enters its changes. Returns why a quota refuses it. */
  enter(metered: Metered): QuotaRefusal | undefined {
    const refusal = checkQuotas(this.#quotas, metered, (key) => this.#rows.get(ledgerKeyName(key)));
    if (refusal) return refusal;
    for (const row of metered.changes) {
      const name = ledgerKeyName(row);
      const { used, reserved } = this.#rows.get(name) ?? { used: 0, reserved: 0 };
      this.#rows.set(name, { ...row, used: used + row.used, reserved: reserved + row.reserved });
    }
    return undefined;
  }
}
