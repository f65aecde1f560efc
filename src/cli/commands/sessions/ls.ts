import type { ListOptions, Sessions } from '../../../core/runtime/sessions.ts';
import { holderName } from '../../../schema/handoff.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { SessionPageView } from '../../../schema/views/session.ts';
import { inUse } from '../../names/find-session.ts';
import { type Context, defineCommand, flag } from '../../parse/command.ts';
import { count } from '../../render/quantity.ts';
import { listingOptions, nothingListed, readListing } from '../../render/session-listing.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age } from '../../render/time.ts';
import { paintStatus } from '../../terminal/paint.ts';
import { printableLine } from '../../terminal/printable.ts';

const pageSize = 1000;

const waitsFor: Column = { title: 'WAITS FOR' };

/** What the session waits for: the people who hold it, or what its run waits for. */
const awaitedBy = ({ holder, handoff, waiting }: SessionSummary): string =>
  holder === 'human' ? holderName(handoff) : (waiting ?? '');

/** Columns of the listing. The column for what a run waits for is left out if no run waits. */
const columnsFor = (sessions: readonly SessionSummary[]): readonly Column[] => [
  { title: 'SESSION', shortens: 3 },
  { title: 'STATUS' },
  ...(sessions.some((summary) => awaitedBy(summary)) ? [waitsFor] : []),
  { title: 'TURNS', align: 'right', leaves: 2 },
  { title: 'MESSAGES', align: 'right', leaves: 1 },
  { title: 'AGE', align: 'right', leaves: 4 },
  { title: 'TITLE', flexible: true, leaves: 5 },
];

const row = (summary: SessionSummary, columns: readonly Column[], now: number): readonly string[] => {
  const { id, status, turn, messages, updatedAt, title = '' } = summary;
  return [
    printableLine(id),
    printableLine(status),
    ...(columns.includes(waitsFor) ? [printableLine(awaitedBy(summary))] : []),
    String(turn),
    String(messages),
    age(updatedAt, now),
    printableLine(title),
  ];
};

const tableOf = (sessions: readonly SessionSummary[], { out, now }: Context): readonly string[] => {
  const at = now();
  const columns = columnsFor(sessions);
  const rows = sessions.map((summary) => row(summary, columns, at));
  return layOutTable(columns, rows, out.columns, (cell, { title }, index) => {
    if (index < 0) return out.style('dim', cell);
    if (title === waitsFor.title) return out.style('yellow', cell);
    return title === 'STATUS' ? paintStatus(sessions[index]!.status, out, cell) : cell;
  });
};

const maxCounted = 100;

/**
 * Note on archived sessions that the listing left out. A listing that reached its end has read all sessions, so this
 * query costs no more.
 */
const archivedText = async (sessions: Sessions): Promise<string | undefined> => {
  const { sessions: archived, cursor } = await sessions.list({ status: 'archived', limit: maxCounted });
  if (archived.length === 0) return undefined;
  const many = cursor ? `more than ${maxCounted} archived sessions` : count(archived.length, 'archived session');
  return `${many} ${archived.length === 1 ? 'is' : 'are'} not shown: \`perdure ls --all\` shows all`;
};

export const ls = defineCommand({
  name: 'ls',
  summary: 'list sessions, newest change first, and what their runs wait for',
  args: [],
  options: { ...listingOptions, all: flag('all of them, archived ones too') },
  notes: ['Archived sessions are listed with --all or --status archived.'],
  examples: ['perdure ls', 'perdure ls --status paused', `perdure ls --all --json | jq -r '.sessions[].id'`],
  needsNoAgents: true,
  json: SessionPageView,
  run: async (context, { options }) => {
    const isWhole = options.all || options.status !== undefined;
    const read = async (query: ListOptions) =>
      (await context.sessions()).list({ ...(!isWhole && { status: [...inUse] }), ...query });
    const pages = await readListing(options, read, pageSize);
    const { cursor } = pages.at(-1)!;
    const page = { sessions: pages.flatMap((each) => each.sessions), ...(cursor && { cursor }) };
    const archived = isWhole || cursor || context.json ? undefined : await archivedText(await context.sessions());
    await context.answer(page, () => {
      if (page.sessions.length > 0) return tableOf(page.sessions, context);
      return archived ? 'every session is archived' : nothingListed(options.status);
    });
    if (cursor)
      await context.note(`there are more: \`perdure ls --all\` lists them${isWhole ? '' : ', archived ones too'}`);
    if (archived) await context.note(archived);
  },
});
