import { z } from 'zod';
import type { SessionUsage } from '../../../core/runs/usage.ts';
import type { ListOptions, Sessions, UsagePage } from '../../../core/runtime/sessions.ts';
import type { Spent } from '../../../schema/run.ts';
import { UsagePageView, UsageView } from '../../../schema/views/session.ts';
import { omitForbidden } from '../../backing/omit-forbidden.ts';
import { type Context, defineCommand } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { count } from '../../render/quantity.ts';
import { listingOptions, nothingListed, readListing } from '../../render/session-listing.ts';
import { sessionName } from '../../render/session-name.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { totalSpent, usedText } from '../../render/usage-text.ts';
import { wrap } from '../../terminal/display-width.ts';
import { printableLine } from '../../terminal/printable.ts';
import { twoColumns } from '../../terminal/two-columns.ts';

const pageSize = 100;

const columns: readonly Column[] = [
  { title: 'SESSION', shortens: 3 },
  { title: 'TURNS', align: 'right', leaves: 2 },
  { title: 'TOKENS', align: 'right' },
  { title: 'USD', align: 'right', leaves: 4 },
  { title: 'ACTIVE', align: 'right', leaves: 1 },
  { title: 'TITLE', flexible: true, leaves: 5 },
];

type Titles = ReadonlyMap<string, string>;

const rowOf = (name: string, used: Pick<SessionUsage, 'spent' | 'limits'>, title: string): readonly string[] => [
  printableLine(name),
  usedText(used, 'turns', '/'),
  usedText(used, 'tokens', '/'),
  usedText(used, 'usd', '/'),
  usedText(used, 'activeMs', '/'),
  printableLine(title),
];

const unpricedText = ({ unpriced }: Spent): readonly string[] =>
  unpriced === 0 ? [] : [`USD without ${count(unpriced, 'call')} to models of unknown price`];

const unreadText = (damaged: UsagePage['damaged']): readonly string[] =>
  damaged.length === 0
    ? []
    : [
        `not counted, because their logs are damaged: ${damaged.map(printableLine).join(', ')}; \`perdure verify\` shows how`,
      ];

const linesOfOne = (usage: SessionUsage, { out }: Context): readonly string[] => [
  out.style('bold', printableLine(usage.session)),
  ...twoColumns(
    [
      ['turns', usedText(usage, 'turns')],
      ['tokens', usedText(usage, 'tokens')],
      ['USD', usedText(usage, 'usd')],
      ['time at work', usedText(usage, 'activeMs')],
    ],
    out.columns,
  ),
  ...unpricedText(usage.spent).flatMap((text) => wrap(text, out.columns)),
];

const tableOf = (
  { usage, damaged, total }: { total: Spent } & Pick<UsagePage, 'usage' | 'damaged'>,
  titles: Titles,
  { out }: Context,
): readonly string[] => {
  const rows = [
    ...usage.map((each) => rowOf(each.session, each, titles.get(each.session) ?? '')),
    rowOf('total', { spent: total, limits: {} }, count(usage.length, 'session')),
  ];
  return [
    ...layOutTable(columns, rows, out.columns, (cell, _, index) => {
      if (index < 0) return out.style('dim', cell);
      return index === usage.length ? out.style('bold', cell) : cell;
    }),
    ...[...unpricedText(total), ...unreadText(damaged)].flatMap((text) => wrap(text, out.columns)),
  ];
};

const titlesOf = async (sessions: Sessions, query: ListOptions): Promise<readonly (readonly [string, string])[]> => {
  const page = await omitForbidden(sessions.list(query));
  return (page?.sessions ?? []).map((each) => [each.id, sessionName(each)]);
};

export const usage = defineCommand({
  name: 'usage',
  summary: 'show what a session has used and may use, or the usage of all sessions',
  args: ['[SESSION]'],
  options: listingOptions,
  notes: [
    'Without SESSION: the sessions that changed last, archived ones too, and the total of those listed. `1,111/5,000` means 1,111 used of 5,000 allowed; `perdure limit` sets that.',
  ],
  examples: ['perdure usage', 'perdure usage ses_…', 'perdure usage --all --json | jq .total'],
  needsNoAgents: true,
  json: z.union([UsageView, UsagePageView.extend({ total: UsageView.shape.spent })]),
  run: async (context, { args: [named], options }) => {
    if (named !== undefined) {
      if (Object.keys(listingOptions).some((name) => options[name as keyof typeof options] !== undefined)) {
        throw wrongCall('--status, --limit, --cursor and --all are for all sessions: leave out SESSION, or them');
      }
      const used = await (await context.session(named)).usage();
      await context.answer(used, () => linesOfOne(used, context));
      return undefined;
    }
    const titles = new Map<string, string>();
    const read = async (query: ListOptions) => {
      const sessions = await context.sessions();
      if (!context.json) for (const [id, title] of await titlesOf(sessions, query)) titles.set(id, title);
      return sessions.usage(query);
    };
    const pages = await readListing(options, read, pageSize);
    const used = pages.flatMap((page) => page.usage);
    const damaged = pages.flatMap((page) => page.damaged);
    const { cursor } = pages.at(-1)!;
    const listed = { usage: used, damaged, ...(cursor && { cursor }), total: totalSpent(used) };
    await context.answer(listed, () =>
      used.length + damaged.length > 0 ? tableOf(listed, titles, context) : nothingListed(options.status),
    );
    if (cursor) await context.note('there are more: `perdure usage --all` counts them');
    return undefined;
  },
});
