import { MemberId, type WorkspaceId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { type OwnQuota, type Quota, QuotaLimits, type QuotaReport, type QuotaUse } from '../../schema/quota.ts';
import { appendDrafts } from '../engine/append-drafts.ts';
import { allRecords, changeRecords } from '../engine/change-records.ts';
import { keyOf, type RecordAccess, type WriteAccess } from '../engine/scope.ts';
import { type LedgerRow, memberQuota, membersQuota, workspaceQuota } from '../ports/ledger.ts';
import type { StoredRecord } from '../ports/records.ts';
import type { ListQuery } from '../ports/store.ts';
import type { StreamLimits } from './workspaces.ts';

export interface Quotas {
  /** The limits of the calling member, and what they have used. Counts only while the workspace has quotas. */
  mine(): Promise<OwnQuota>;
  /** The quotas of the workspace and its members, and what is used of them. */
  list(): Promise<QuotaReport>;
  /**
   * Sets the quota of a member, or without a `member` the default of all members. Replaces an earlier one as a whole.
   * Runs that wait for a quota look again. The quota of the workspace is set by `runtime.workspaces`.
   */
  set(limits: QuotaLimits, options?: { readonly member?: string | undefined }): Promise<Quota>;
  /** Removes the quota of a member, or the default of all members. */
  remove(options?: { readonly member?: string | undefined }): Promise<void>;
}

export type QuotaAccess = RecordAccess & WriteAccess;

const subjectOf = (id: string): Pick<Quota, 'of' | 'member'> => {
  if (id === workspaceQuota) return { of: 'workspace' };
  if (id === membersQuota) return { of: 'members' };
  return { of: 'member', member: MemberId.parse(id.slice(memberQuota('').length)) };
};

const quotaIn = ({ id, at, body }: StoredRecord): Quota => ({
  ...subjectOf(id),
  limits: QuotaLimits.parse((body as { limits?: unknown }).limits),
  changedAt: at,
});

const idOf = (member: string | undefined): string =>
  member === undefined ? membersQuota : memberQuota(parseInput('the member', MemberId, member));

const pageSize = 500;

/** Makes the runs of the workspace that wait for a quota look again. They also continue when their period ends. */
const wakeWaiting = async (scope: QuotaAccess): Promise<void> => {
  const { store, workspace, actor } = scope;
  const where = [[{ name: 'waiting', value: 'quota' }]];
  for (let after: ListQuery['after']; ; ) {
    const { sessions, next } = await store.list(workspace, { status: ['active'], where, limit: pageSize, after });
    for (const { id, turn } of sessions) {
      const changed = { type: 'quota.changed', payload: {}, actor, turn } as const;
      // A session that was closed or quarantined meanwhile need not look again.
      const fact = { writer: { kind: 'outside' }, whileStatus: ['active'] } as const;
      await appendDrafts(scope, keyOf(scope, id), [changed], fact);
    }
    if (!next) return;
    after = next;
  }
};

/** Sets or removes the quota with this id. */
export const changeQuota = async (
  scope: QuotaAccess,
  id: string,
  given: QuotaLimits | undefined,
): Promise<Quota | undefined> => {
  const { records, workspace, clock } = scope;
  const limits = given && parseInput('the quota', QuotaLimits, given);
  await changeRecords(scope, async () => {
    const onVersion = (await records.record(workspace, 'quota', id))?.version ?? 0;
    const body = limits && JSON.parse(JSON.stringify({ id, limits }));
    const writes = onVersion === 0 && !body ? [] : [{ kind: 'quota' as const, id, onVersion, body }];
    return { writes, result: undefined };
  });
  await wakeWaiting(scope);
  return limits && { ...subjectOf(id), limits, changedAt: clock.now() };
};

const nothingUsed = {
  sessions: 0,
  bytes: 0,
  runs: 0,
  tokensPerDay: 0,
  tokensPerMonth: 0,
  usdPerDay: 0,
  usdPerMonth: 0,
} as const satisfies QuotaUse;

const fieldOf = ({ meter, period }: LedgerRow): keyof typeof nothingUsed =>
  meter === 'tokens' || meter === 'usd' ? `${meter}Per${period.length === 7 ? 'Month' : 'Day'}` : meter;

const useOf = (member: string, rows: readonly LedgerRow[]): QuotaUse => {
  const amounts = rows.map(
    (row) => [fieldOf(row), (row.used + row.reserved) / (row.meter === 'usd' ? 1e6 : 1)] as const,
  );
  return { ...(member !== '' && { member }), ...nothingUsed, ...Object.fromEntries(amounts) };
};

const readUse = async ({ store, workspace, clock }: QuotaAccess): Promise<readonly QuotaUse[]> => {
  const now = new Date(clock.now()).toISOString();
  const rows = await store.ledger(workspace, [now.slice(0, 10), now.slice(0, 7)]);
  return [...Map.groupBy(rows, ({ member }) => member)].map(([member, own]) => useOf(member, own));
};

const readQuotas = async ({ records, workspace }: QuotaAccess): Promise<readonly Quota[]> =>
  (await allRecords(records, workspace, 'quota')).map(quotaIn);

/** The limits of open streams: that of the workspace, and that of the member. */
export const readStreamLimits = async (
  { records }: Pick<RecordAccess, 'records'>,
  workspace: WorkspaceId,
  member: string,
): Promise<StreamLimits> => {
  const ids = [workspaceQuota, membersQuota, memberQuota(member)];
  const found = await Promise.all(ids.map((id) => records.record(workspace, 'quota', id)));
  const [whole, byDefault, own] = found.map((record) => record && quotaIn(record).limits.streams);
  return { workspace: whole, member: own ?? byDefault };
};

const order: readonly Quota['of'][] = ['workspace', 'members', 'member'];

export const quotasOf = (scope: QuotaAccess): Quotas => ({
  mine: async () => {
    const { member } = scope.caller;
    const quotas = await readQuotas(scope);
    const byDefault = quotas.find(({ of }) => of === 'members')?.limits;
    const own = quotas.find((quota) => quota.of === 'member' && quota.member === member)?.limits;
    const used = (await readUse(scope)).find((use) => use.member === member) ?? { member, ...nothingUsed };
    return { limits: { ...byDefault, ...own }, used };
  },
  list: async () => ({
    quotas: (await readQuotas(scope)).toSorted((a, b) => order.indexOf(a.of) - order.indexOf(b.of)),
    used: [...(await readUse(scope))],
  }),
  set: async (limits, { member } = {}) => (await changeQuota(scope, idOf(member), limits ?? {}))!,
  remove: async ({ member } = {}) => {
    await changeQuota(scope, idOf(member), undefined);
  },
});
