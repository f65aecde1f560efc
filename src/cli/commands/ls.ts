import type { SessionSummary } from '../../schema/summary.ts';
import { SessionPageView } from '../../schema/views/session.ts';
import { type Context, defineCommand } from '../command.ts';
import { paintStatus } from '../paint.ts';
import { printableLine } from '../printable.ts';
import { listingOptions, nothingListed, readListing } from '../session-listing.ts';
import { type Column, layOutTable } from '../table.ts';
import { age } from '../time.ts';

const pageSize = 1000;

const columns: readonly Column[] = [
  { title: 'SESSION', shortens: 3 },
  { title: 'STATUS' },
  { title: 'TURNS', align: 'right', leaves: 2 },
  { title: 'MESSAGES', align: 'right', leaves: 1 },
  { title: 'AGE', align: 'right', leaves: 4 },
  { title: 'TITLE', flexible: true, leaves: 5 },
];

const row = ({ id, status, turn, messages, updatedAt, title = '' }: SessionSummary, now: number): readonly string[] => [
  printableLine(id),
  printableLine(status),
  String(turn),
  String(messages),
  age(updatedAt, now),
  printableLine(title),
];

const tableOf = (sessions: readonly SessionSummary[], { out, now }: Context): readonly string[] => {
  const at = now();
  const rows = sessions.map((summary) => row(summary, at));
  return layOutTable(columns, rows, out.columns, (cell, { title }, index) => {
    if (index < 0) return out.style('dim', cell);
    return title === 'STATUS' ? paintStatus(sessions[index]!.status, out, cell) : cell;
  });
};

export const ls = defineCommand({
  name: 'ls',
  summary: 'list sessions, newest change first',
  args: [],
  options: listingOptions,
  examples: ['perdure ls', 'perdure ls --status paused', `perdure ls --all --json | jq -r '.sessions[].id'`],
  needsNoAgents: true,
  json: SessionPageView,
  run: async (context, { options }) => {
    const pages = await readListing(options, async (query) => (await context.sessions()).list(query), pageSize);
    const { cursor } = pages.at(-1)!;
    const page = { sessions: pages.flatMap((each) => each.sessions), ...(cursor && { cursor }) };
    await context.answer(page, () =>
      page.sessions.length > 0 ? tableOf(page.sessions, context) : nothingListed(options.status),
    );
    if (cursor) await context.note('there are more: `perdure ls --all` lists them');
  },
});
