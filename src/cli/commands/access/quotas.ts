import { z } from 'zod';
import { OwnQuota, Quota, QuotaLimits, QuotaReport, type QuotaUse } from '../../../schema/quota.ts';
import { type Command, defineCommand, flag } from '../../parse/command.ts';
import { parseQuota, quotaOptions } from '../../parse/quota.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { printableLine } from '../../terminal/printable.ts';

const columns: readonly Column[] = [
  { title: 'QUOTA OF' },
  { title: 'LIMIT' },
  { title: 'USED', align: 'right' },
  { title: 'AT MOST', align: 'right', flexible: true },
];

const names: Readonly<Record<keyof QuotaLimits, string>> = {
  sessions: 'sessions',
  bytes: 'bytes',
  streams: 'streams',
  runs: 'runs at once',
  tokensPerDay: 'tokens per day',
  tokensPerMonth: 'tokens per month',
  usdPerDay: 'USD per day',
  usdPerMonth: 'USD per month',
  agents: 'agents',
  models: 'models',
};

type Rows = readonly (readonly string[])[];

const rowsOf = (of: string, limits: QuotaLimits, used: QuotaUse | undefined): Rows =>
  (Object.keys(names) as (keyof QuotaLimits)[]).flatMap((field) => {
    const limit = limits[field];
    if (limit === undefined) return [];
    const amount = used && field in used ? String(used[field as keyof QuotaUse] ?? '') : '';
    const most = Array.isArray(limit) ? limit.join(', ') || 'none' : String(limit);
    return [[printableLine(of), names[field], amount, printableLine(most)]];
  });

const nameOf = ({ of, member }: Pick<Quota, 'of' | 'member'>): string => member ?? of;

const reportRows = ({ quotas, used }: QuotaReport): Rows =>
  quotas.flatMap(({ limits, ...quota }) => {
    const use = quota.of === 'members' ? undefined : used.find(({ member }) => member === quota.member);
    return rowsOf(nameOf(quota), limits, use);
  });

const shown = (quota: Quota): string => {
  const limits = rowsOf('', quota.limits, undefined).map(([, name, , most]) => `${most} ${name}`);
  const whose = quota.of === 'members' ? 'each member' : nameOf(quota);
  return `the quota of ${whose} is ${limits.join('; ') || 'without limits'}`;
};

const replaced =
  'A quota is replaced as a whole: a limit that is not given is removed. Runs that wait for it look again.';

export const quotaCommands: readonly Command[] = [
  defineCommand({
    name: 'quotas ls',
    summary: 'list the quotas of the workspace and its members, and what is used',
    args: [],
    options: {},
    examples: ['perdure quotas ls'],
    json: QuotaReport,
    run: async (context) => {
      const report = await (await context.runtime()).quotas.list();
      const { out } = context;
      await context.answer(report, () => {
        const rows = reportRows(report);
        if (rows.length === 0) return 'no quotas: `perdure quotas set` and `perdure workspaces quota` set one';
        return layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
      });
      return undefined;
    },
  }),
  defineCommand({
    name: 'quotas mine',
    summary: 'show your own limits, and what you have used',
    args: [],
    options: {},
    examples: ['perdure quotas mine'],
    json: OwnQuota,
    run: async (context) => {
      const own = await (await context.runtime()).quotas.mine();
      const { out } = context;
      await context.answer(own, () => {
        const rows = rowsOf('you', own.limits, own.used);
        if (rows.length === 0) return 'you have no quota of your own';
        return layOutTable(columns, rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
      });
      return undefined;
    },
  }),
  defineCommand({
    name: 'quotas set',
    summary: 'set the quota of a member, or the default of all members',
    args: ['[MEMBER]'],
    options: quotaOptions,
    notes: [
      'Without MEMBER it applies to every member who has no such limit of their own.',
      replaced,
      'The quota of a whole workspace is set by whoever runs the store: `perdure workspaces quota`.',
    ],
    examples: ['perdure quotas set --tokens-per-day 200000', 'perdure quotas set ann --usd-per-month 50 --runs 4'],
    json: Quota,
    run: async (context, { args: [member], options }) => {
      const limits = parseQuota('quotas set', options);
      const quota = await (await context.runtime()).quotas.set(limits, { member });
      await context.answer(quota, () => shown(quota));
      return undefined;
    },
  }),
  defineCommand({
    name: 'quotas rm',
    summary: 'remove the quota of a member, or the default of all members',
    args: ['[MEMBER]'],
    options: {},
    examples: ['perdure quotas rm ann'],
    json: z.strictObject({ removed: z.string() }),
    run: async (context, { args: [member] }) => {
      await (await context.runtime()).quotas.remove({ member });
      const whose = member === undefined ? 'all members' : printableLine(member);
      await context.answer({ removed: member ?? 'members' }, () => `the quota of ${whose} is removed`);
      return undefined;
    },
  }),
];

/** For whoever runs the store. No admin of a workspace can use it over a server. */
export const workspaceQuotaCommand: Command = defineCommand({
  name: 'workspaces quota',
  summary: 'set what a workspace as a whole may use',
  args: ['NAME'],
  options: { ...quotaOptions, none: flag('remove the quota') },
  notes: [replaced, 'It works on the store itself, so that no admin of a workspace raises it.'],
  examples: [
    'perdure workspaces quota acme --sessions 1000 --usd-per-month 200',
    'perdure workspaces quota acme --none',
  ],
  backingOptions: ['store', 'config'],
  json: z.strictObject({ workspace: z.string(), limits: QuotaLimits.optional() }),
  run: async (context, { args: [name], options: { none, ...given } }) => {
    const limits = none ? undefined : parseQuota('workspaces quota', given);
    const quota = await (await context.workspaces()).setQuota(name!, limits);
    await context.answer({ workspace: name!, ...(limits && { limits }) }, () =>
      quota
        ? shown(quota).replace('of workspace', `of ${printableLine(name!)}`)
        : `${printableLine(name!)} has no quota`,
    );
    return undefined;
  },
});
