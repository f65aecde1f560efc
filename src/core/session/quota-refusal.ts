import { PerdureError } from '../../schema/error.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import type { QuotaLimits, QuotaRefusal } from '../ports/ledger.ts';

const units: Readonly<Record<keyof QuotaLimits, string>> = {
  sessions: 'sessions that are not archived',
  bytes: 'bytes',
  streams: 'open streams',
  runs: 'runs at once',
  tokensPerDay: 'tokens per day (UTC)',
  tokensPerMonth: 'tokens per month (UTC)',
  usdPerDay: 'USD per day (UTC)',
  usdPerMonth: 'USD per month (UTC)',
  agents: 'agents',
  models: 'models',
};

/** The option of the command line that sets each limit. */
const options: Readonly<Record<keyof QuotaLimits, string>> = {
  sessions: '--sessions',
  bytes: '--bytes',
  streams: '--streams',
  runs: '--runs',
  tokensPerDay: '--tokens-per-day',
  tokensPerMonth: '--tokens-per-month',
  usdPerDay: '--usd-per-day',
  usdPerMonth: '--usd-per-month',
  agents: '--agent',
  models: '--model',
};

const amount = (value: number): string => String(Number(value.toFixed(6)));

/** Who can change the quota, and how. */
const raisedBy = (workspace: WorkspaceId, { quota, member }: QuotaRefusal): string => {
  const option = options[quota];
  return member === undefined
    ? `the operator of this store can change it with \`perdure workspaces quota ${workspace} ${option} …\``
    : `an admin of ${workspace} can change it with \`perdure quotas set ${member} ${option} …\``;
};

const whose = (workspace: WorkspaceId, { member }: QuotaRefusal): string =>
  member === undefined ? `the workspace ${workspace}` : `the member ${member}`;

const describe = (workspace: WorkspaceId, refusal: QuotaRefusal): string => {
  const { quota } = refusal;
  const owner = whose(workspace, refusal);
  switch (refusal.kind) {
    case 'exceeded': {
      const { used, asked, limit, resetsAt } = refusal;
      const more = asked > 0 ? `, and this needs ${amount(asked)} more` : '';
      const reset = resetsAt === undefined ? '' : `; it begins anew at ${new Date(resetsAt).toISOString()}`;
      return `the quota of ${owner} is ${amount(limit)} ${units[quota]}: ${amount(used)} are used or reserved${more}${reset}`;
    }
    case 'excluded': {
      const { name, allowed } = refusal;
      const list = allowed.length > 0 ? allowed.join(', ') : 'none';
      return `the quota of ${owner} does not include the ${quota.slice(0, -1)} ${name}; it includes: ${list}`;
    }
    case 'unpriced':
      return `the price of ${refusal.name} is not known, so the quota of ${owner}, ${amount(refusal.limit)} ${units[quota]}, cannot be enforced: configure the price, or use another model`;
  }
};

/** The error for what a quota refuses. It names the quota, and who can change it. */
export const quotaError = (workspace: WorkspaceId, refusal: QuotaRefusal): PerdureError => {
  const code = refusal.kind === 'exceeded' ? 'QUOTA_EXCEEDED' : 'QUOTA_EXCLUDED';
  const message = `${describe(workspace, refusal)}; ${raisedBy(workspace, refusal)}`;
  const raisedIn = refusal.member === undefined ? 'operator' : 'admin';
  return new PerdureError(code, message, { details: { workspace, ...refusal, changedBy: raisedIn } });
};
