import { z } from 'zod';
import type { SessionUsage } from '../../../core/runs/usage.ts';
import type { UsageQuery } from '../../../core/runs/workspace-usage.ts';
import { type UsageReport, UsageReportView, UsageView } from '../../../schema/views/usage.ts';
import { omitForbidden } from '../../backing/omit-forbidden.ts';
import { type Context, defineCommand } from '../../parse/command.ts';
import { parseUsagePage, parseUsageQuery, usageOptions } from '../../parse/usage-query.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { sessionName } from '../../render/session-name.ts';
import { usageCsv } from '../../render/usage-csv.ts';
import { unpricedText, usageTable } from '../../render/usage-table.ts';
import { amountTexts, usedText } from '../../render/usage-text.ts';
import { wrap } from '../../terminal/display-width.ts';
import { printableLine } from '../../terminal/printable.ts';
import { twoColumns } from '../../terminal/two-columns.ts';

const shareText = ({ own, children, inherited }: SessionUsage): readonly (readonly [string, string])[] => {
  const line = (name: string, { tokens, usd }: SessionUsage['own']) =>
    [name, `${amountTexts.tokens(tokens)} tokens, ${amountTexts.usd(usd)} USD`] as const;
  if (children.tokens + inherited.tokens === 0) return [];
  return [line('its own', own), line('subagents', children), line('inherited', inherited)];
};

const linesOfOne = (usage: SessionUsage, { out }: Context): readonly string[] => [
  out.style('bold', printableLine(usage.session)),
  ...twoColumns(
    [
      ['turns', usedText(usage, 'turns')],
      ['tokens', usedText(usage, 'tokens')],
      ['USD', usedText(usage, 'usd')],
      ['time at work', usedText(usage, 'activeMs')],
      ...shareText(usage),
    ],
    out.columns,
  ),
  ...unpricedText(usage.spent.unpriced).flatMap((text) => wrap(text, out.columns)),
];

/** The titles of the newest sessions, as far as the key may read them. */
const titlesOf = async (context: Context, { by }: UsageReport): Promise<ReadonlyMap<string, string>> => {
  if (by !== 'session' || context.json) return new Map();
  const page = await omitForbidden((await context.sessions()).list({ limit: 1000 }));
  return new Map((page?.sessions ?? []).map((each) => [each.id, sessionName(each)]));
};

/** Without a named workspace, the program on a store reads the usage of all workspaces. */
const readerFor = async (context: Context, { by }: UsageQuery, workspace: string | undefined) =>
  by === 'workspace' && context.server === undefined && !(workspace ?? context.env.PERDURE_WORKSPACE)
    ? context.wholeRuntime()
    : context.runtime();

const readReport = async (
  context: Context,
  query: UsageQuery,
  { isAll, page }: ReturnType<typeof parseUsagePage>,
  workspace: string | undefined,
): Promise<UsageReport> => {
  const runtime = await readerFor(context, query, workspace);
  let report = await runtime.usage({ ...query, ...page });
  while (isAll && report.cursor !== undefined) {
    const { rows } = report;
    const next = await runtime.usage({ ...query, ...page, cursor: report.cursor });
    report = { ...next, rows: [...rows, ...next.rows] };
  }
  return report;
};

export const usage = defineCommand({
  name: 'usage',
  summary: 'show what a session has used and may use, or what models used by session, member, month and more',
  args: ['[SESSION]'],
  options: usageOptions,
  notes: [
    'SESSION alone shows its usage against its limits: `1,111 of 5,000`. With --by it shows the parts of that usage.',
    'The total counts each model call once. SUBAGENTS and INHERITED show what other sessions used for this one.',
    'Days and months are those of UTC. `--by workspace` on a store shows all workspaces, unless --workspace names one.',
  ],
  examples: [
    'perdure usage',
    'perdure usage ses_…',
    'perdure usage --month 2026-11 --by member --csv',
    'perdure usage --member mia --by day --since 30d',
    'perdure usage --all --json | jq .total',
  ],
  needsNoAgents: true,
  json: z.union([UsageView, UsageReportView]),
  run: async (context, { args: [named], options }) => {
    if (options.csv && context.json) throw wrongCall('--csv and --json exclude each other: leave out one');
    const isFiltered = Object.keys(usageOptions).some((name) => options[name as keyof typeof options] !== undefined);
    if (named !== undefined && !isFiltered) {
      const used = await (await context.session(named)).usage();
      await context.answer(used, () => linesOfOne(used, context));
      return undefined;
    }
    const query = parseUsageQuery(options, context.now());
    const page = parseUsagePage(options);
    const session = named === undefined ? undefined : await context.sessionId(named);
    const { workspace } = options as { readonly workspace?: string };
    const report = await readReport(context, { ...query, session }, page, workspace);
    const titles = await titlesOf(context, report);
    await context.answer(report, () => {
      if (options.csv) return usageCsv(report);
      return report.rows.length === 0 ? 'no model was called' : usageTable(report, titles, context.out);
    });
    if (report.cursor !== undefined) await context.note('there are more: `perdure usage --all` lists them');
    return undefined;
  },
});
