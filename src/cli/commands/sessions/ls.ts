import type { ListOptions, Sessions } from '../../../core/runtime/sessions.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { SessionPageView } from '../../../schema/views/session.ts';
import { inUse } from '../../names/find-session.ts';
import { type Context, defineCommand, flag } from '../../parse/command.ts';
import { count } from '../../render/quantity.ts';
import { hasFilter, listingOptions, nothingListed, readListing } from '../../render/session-listing.ts';
import { sessionName } from '../../render/session-name.ts';
import { type Column, layOutTable } from '../../render/table.ts';
import { age } from '../../render/time.ts';
import { waitsFor } from '../../render/waits-for.ts';
import { truncate } from '../../terminal/display-width.ts';
import { paintSummary, statusText } from '../../terminal/paint.ts';
import { printableLine } from '../../terminal/printable.ts';
import type { Style } from '../../terminal/terminal.ts';

const pageSize = 1000;

interface ListedColumn extends Column {
  readonly of: (summary: SessionSummary, now: number) => string;
  /** On a terminal, a longer value is cut to this width. */
  readonly max?: number;
  /** Set for a column that is left out if no session has a value for it. */
  readonly isOptional?: true;
  readonly style?: Style;
}

const maxDetail = 48;

const columns: readonly ListedColumn[] = [
  { title: 'SESSION', shortens: 3, of: ({ id }) => id },
  { title: 'STATUS', of: statusText },
  { title: 'WAITS FOR', of: (summary, now) => waitsFor(summary, now)?.what ?? '', isOptional: true, style: 'yellow' },
  {
    title: 'LAST RUN',
    of: ({ failure }) => (failure ? `failed ${failure.code}` : ''),
    max: maxDetail,
    isOptional: true,
    style: 'red',
  },
  { title: 'TURNS', align: 'right', leaves: 2, of: ({ turn }) => String(turn) },
  { title: 'MESSAGES', align: 'right', leaves: 1, of: ({ messages }) => String(messages) },
  {
    title: 'PLAN',
    align: 'right',
    leaves: 3,
    of: ({ plan }) => (plan && plan.total > 0 ? `${plan.done}/${plan.total}` : ''),
    isOptional: true,
  },
  { title: 'AGE', align: 'right', leaves: 4, of: ({ updatedAt }, now) => age(updatedAt, now) },
  {
    title: 'FOR',
    leaves: 0,
    of: (summary, now) => waitsFor(summary, now)?.on ?? '',
    max: maxDetail,
    isOptional: true,
    style: 'dim',
  },
  { title: 'TITLE', flexible: true, leaves: 5, of: sessionName },
];

const tableOf = (sessions: readonly SessionSummary[], { out, now }: Context): readonly string[] => {
  const at = now();
  const cellOf = ({ of, max }: ListedColumn, summary: SessionSummary): string => {
    const text = printableLine(of(summary, at));
    return max !== undefined && Number.isFinite(out.columns) ? truncate(text, max) : text;
  };
  const cells = columns.map((column) => sessions.map((summary) => cellOf(column, summary)));
  const shown = columns.flatMap((column, index) =>
    column.isOptional && cells[index]!.every((cell) => cell === '') ? [] : [{ column, index }],
  );
  const rows = sessions.map((_, row) => shown.map(({ index }) => cells[index]![row]!));
  const listed = shown.map(({ column }) => column);
  return layOutTable(listed, rows, out.columns, (cell, column, row) => {
    if (row < 0) return out.style('dim', cell);
    const { style } = column as ListedColumn;
    if (style) return out.style(style, cell);
    return column.title === 'STATUS' ? paintSummary(sessions[row]!, out, cell) : cell;
  });
};

const maxCounted = 100;

/**
 * Note on archived sessions that the listing left out.
 */
const archivedText = async (sessions: Sessions): Promise<string | undefined> => {
  const { sessions: archived, cursor } = await sessions.list({ status: 'archived', limit: maxCounted });
  if (archived.length === 0) return undefined;
  const many = cursor ? `more than ${maxCounted} archived sessions` : count(archived.length, 'archived session');
  return `${many} ${archived.length === 1 ? 'is' : 'are'} not shown: \`perdure ls --all\` shows all`;
};

export const ls = defineCommand({
  name: 'ls',
  summary: 'list sessions, newest change first: what they wait for, failed last runs, the progress of plans',
  args: [],
  options: {
    ...listingOptions,
    all: flag('all of them, archived ones too'),
    'include-private': flag('private ones of others too: for admins, and audited'),
  },
  notes: [
    'Archived sessions are listed with --all or --status archived.',
    'An untitled session is listed by the first words that a person sent to it.',
  ],
  examples: [
    'perdure ls',
    'perdure ls --status paused',
    'perdure ls --agent coder --run failed --since 24h',
    'perdure ls --metadata ticket=OPS-12',
    `perdure ls --all --json | jq -r '.sessions[].id'`,
  ],
  needsNoAgents: true,
  json: SessionPageView,
  run: async (context, { options }) => {
    const isWhole = options.all || options.status !== undefined;
    const sessions = await context.sessions();
    const hidden = options['include-private'] && { includePrivate: true };
    const list = (query: ListOptions) =>
      sessions.list({ ...(!isWhole && { status: [...inUse] }), ...hidden, ...query });
    // With several filters, a page can be empty although a later one is not.
    const read = async (query: ListOptions) => {
      let page = await list(query);
      while (page.sessions.length === 0 && page.cursor) page = await list({ ...query, cursor: page.cursor });
      return page;
    };
    const pages = await readListing(options, read, { pageSize, now: context.now() });
    const { cursor } = pages.at(-1)!;
    const page = { sessions: pages.flatMap((each) => each.sessions), ...(cursor && { cursor }) };
    const archived = isWhole || cursor || context.json || hasFilter(options) ? undefined : await archivedText(sessions);
    await context.answer(page, () => {
      if (page.sessions.length > 0) return tableOf(page.sessions, context);
      return archived && !hasFilter(options) ? 'every session is archived' : nothingListed(options);
    });
    if (cursor)
      await context.note(`there are more: \`perdure ls --all\` lists them${isWhole ? '' : ', archived ones too'}`);
    if (archived) await context.note(archived);
  },
});
