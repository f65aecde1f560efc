import type { SessionId } from '../../schema/ids.ts';
import type { Limits, Spent } from '../../schema/run.ts';
import type { UsageAmounts } from '../../schema/views/usage.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { ChargeAmounts, ChargeQuery } from '../ports/charges.ts';
import type { SessionKey } from '../ports/store.ts';

/** The usage of a session, and its limits. */
export interface SessionUsage {
  readonly session: SessionId;
  readonly agent?: { readonly name: string; readonly version: number } | undefined;
  /** What counts for the limits: the sum of the three amounts below, with turns and active time. */
  readonly spent: Spent;
  readonly limits: Limits;
  /** The model calls of the session itself. */
  readonly own: UsageAmounts;
  /** Its ended subagents. Their sessions count the same calls as their own. */
  readonly children: UsageAmounts;
  /** What a fork inherited. The sessions of its lineage count the same calls as their own. */
  readonly inherited: UsageAmounts;
}

export const amountsOf = (amounts: ChargeAmounts): UsageAmounts => ({
  tokens: amounts.inputTokens + amounts.outputTokens,
  ...amounts,
});

export const addAmounts = (a: UsageAmounts, b: UsageAmounts): UsageAmounts => ({
  tokens: a.tokens + b.tokens,
  inputTokens: a.inputTokens + b.inputTokens,
  outputTokens: a.outputTokens + b.outputTokens,
  cachedTokens: a.cachedTokens + b.cachedTokens,
  usd: a.usd + b.usd,
  unpriced: a.unpriced + b.unpriced,
});

export const noAmounts: UsageAmounts = {
  tokens: 0,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  usd: 0,
  unpriced: 0,
};

/** What a session inherited from its lineage up to its fork point. */
export const inheritedBy = async (
  { store, workspace }: Pick<LogAccess, 'store' | 'workspace'>,
  session: SessionId,
  when: Pick<ChargeQuery, 'since' | 'until'> = {},
): Promise<UsageAmounts> => {
  const parent = (await store.head({ workspace, session }))?.parent;
  if (!parent) return noAmounts;
  const within = { session, ranges: [[1, parent.seq]] as const };
  const { own, children } = await store.sumCharges(workspace, { ...when, within });
  return addAmounts(amountsOf(own), amountsOf(children));
};

export const usageOf = async (scope: LogAccess, key: SessionKey): Promise<SessionUsage> => {
  const { session } = key;
  const [{ agent, spent, limits }, { own, children }, inherited] = await Promise.all([
    scope.folds.outline(key),
    scope.store.sumCharges(key.workspace, { session }),
    inheritedBy(scope, session),
  ]);
  return {
    session,
    ...(agent && { agent }),
    spent,
    limits,
    own: amountsOf(own),
    children: amountsOf(children),
    inherited,
  };
};
