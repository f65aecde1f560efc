import { z } from 'zod';
import { SessionId } from '../ids.ts';
import { Limits } from '../run.ts';

const Count = z.int().nonnegative();

export const usageGroups = ['run', 'session', 'agent', 'model', 'member', 'workspace', 'day', 'month'] as const;
export type UsageGroup = (typeof usageGroups)[number];

export const AmountsView = z
  .strictObject({
    tokens: Count.describe('Input and output tokens together.'),
    inputTokens: Count,
    outputTokens: Count,
    cachedTokens: Count.describe('The part of the input tokens that the provider read from its cache.'),
    usd: z.number().nonnegative(),
    unpriced: Count.describe('The number of calls whose price is not known. They are missing from `usd`.'),
  })
  .meta({ id: 'UsageAmounts' });
/** An amount of usage. */
export type UsageAmounts = z.infer<typeof AmountsView>;

export const UsageView = z
  .strictObject({
    session: SessionId,
    agent: z.strictObject({ name: z.string(), version: z.int() }).optional(),
    spent: z
      .strictObject({ turns: Count, tokens: Count, usd: z.number(), unpriced: Count, activeMs: z.number() })
      .describe('What counts for the limits: its own usage, its subagents’ and what it inherited.'),
    limits: Limits,
    own: AmountsView.describe('The model calls of the session itself.'),
    children: AmountsView.describe('Its ended subagents. Their sessions count the same calls as their own.'),
    inherited: AmountsView.describe(
      'What a fork inherited. The sessions of its lineage count the same calls as their own.',
    ),
  })
  .meta({ id: 'SessionUsage' });

const UsageRowView = z
  .strictObject({
    key: z.string().optional().describe('What the calls of this row share. Absent for calls that have none.'),
    calls: Count.describe('The number of model calls.'),
    own: AmountsView,
    children: AmountsView.optional().describe('By run and by session: ended subagents. Not part of the total.'),
    inherited: AmountsView.optional().describe('By session: what a fork inherited. Not part of the total.'),
  })
  .meta({ id: 'UsageRow' });
/** The usage of calls that share a run, a session, an agent, and so on. */
export type UsageRow = z.infer<typeof UsageRowView>;

export const UsageReportView = z
  .strictObject({
    by: z.enum(usageGroups),
    rows: z.array(UsageRowView),
    total: AmountsView.extend({ calls: Count }).describe(
      'All model calls that match, each counted once, whether or not this page lists them.',
    ),
    cursor: z.string().optional(),
  })
  .meta({ id: 'UsageReport' });
/** Usage by one group, and its total. */
export type UsageReport = z.infer<typeof UsageReportView>;
