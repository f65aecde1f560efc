import type { UsageQuery } from '../../core/runs/workspace-usage.ts';
import { usageGroups } from '../../schema/views/usage.ts';
import { choice, flag, text, type Values } from './command.ts';
import { parseMoment } from './moment.ts';
import { parseCount } from './point.ts';
import { wrongCall } from './wrong-call.ts';

export const usageOptions = {
  by: choice('WHAT', usageGroups, `what a line shows: ${usageGroups.join(', ')}; default session`),
  month: text('YYYY-MM', 'only this month, in UTC'),
  since: text('WHEN', 'not before a date, or a time ago: 7d, 24h'),
  until: text('WHEN', 'not after a date, or a time ago'),
  member: text('MEMBER', 'only what this member asked for'),
  agent: text('AGENT', 'only the calls of this agent'),
  model: text('MODEL', 'only the calls to this model'),
  limit: text('N', 'at most N lines; default 100'),
  cursor: text('CURSOR', 'continue from this cursor, given by an earlier --json answer'),
  all: flag('all lines'),
  csv: flag('answer in CSV, all lines'),
};

const parseMonth = (given: string): Pick<UsageQuery, 'since' | 'until'> => {
  const [, year, month] = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(given) ?? [];
  if (month === undefined) throw wrongCall(`--month is a month such as 2026-11; got "${given}"`);
  return { since: Date.UTC(Number(year), Number(month) - 1), until: Date.UTC(Number(year), Number(month)) - 1 };
};

/** The query without the page. */
export const parseUsageQuery = (options: Values<typeof usageOptions>, now: number): UsageQuery => {
  const { by, month, since, until, member, agent, model } = options;
  if (month !== undefined && (since ?? until) !== undefined) {
    throw wrongCall('--month is a time range by itself: leave out --since and --until');
  }
  const range =
    month === undefined
      ? { since: parseMoment('--since', since, now), until: parseMoment('--until', until, now) }
      : parseMonth(month);
  return { by, ...range, member, agent, model };
};

/** The page to read: its limit and cursor, or all pages. */
export const parseUsagePage = (
  options: Values<typeof usageOptions>,
): { readonly isAll: boolean; readonly page: Pick<UsageQuery, 'limit' | 'cursor'> } => {
  const { limit: given, cursor, all, csv } = options;
  const limit = parseCount('--limit', given, 1, 1000);
  if (all && (limit ?? cursor) !== undefined) {
    throw wrongCall('--all lists everything: leave out --limit and --cursor');
  }
  const isAll = all === true || (csv === true && limit === undefined && cursor === undefined);
  return { isAll, page: isAll ? { limit: 1000 } : { limit, cursor } };
};
