import type { ListOptions } from '../../core/runtime/sessions.ts';
import { holders, runStatuses, statuses } from '../../schema/statuses.ts';
import { choice, choicesOf, flag, text, texts, type Values } from '../parse/command.ts';
import { parseMoment } from '../parse/moment.ts';
import { parseCount } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';

/** Options that select the sessions of a listing. */
export const listingOptions = {
  status: choice('STATUS', statuses, `only those that are ${statuses.join(', ')}`),
  agent: text('AGENT', 'only those that are bound to this agent'),
  member: text('MEMBER', 'only those that this member owns'),
  holder: choice('HOLDER', holders, `only those that are held by: ${holders.join(', ')}`),
  run: choicesOf('STATUS', runStatuses, `only those whose run is ${runStatuses.join(', ')}; repeatable`),
  metadata: texts('KEY=VALUE', 'only those with this value in their metadata; repeatable'),
  since: text('WHEN', 'not changed before a date, or a time ago: 7d, 24h'),
  until: text('WHEN', 'not changed after'),
  limit: text('N', 'at most N; default 50'),
  cursor: text('CURSOR', 'continue from this cursor, given by an earlier --json answer'),
  all: flag('all of them'),
};

type ListingValues = Values<typeof listingOptions>;

/** The value as JSON where it is a number, a boolean or null, and otherwise as text. */
const scalarOf = (text: string): string | number | boolean | null => {
  if (!/^(true|false|null|-?\d+(\.\d+)?)$/.test(text)) return text;
  return JSON.parse(text);
};

const parseMetadata = (fields: readonly string[]): NonNullable<ListOptions['metadata']> =>
  Object.fromEntries(
    fields.map((field) => {
      const [, key, value] = /^([^=]+)=(.*)$/s.exec(field) ?? [];
      if (key === undefined) throw wrongCall(`--metadata takes KEY=VALUE, such as ticket=OPS-12, not "${field}"`);
      return [key, scalarOf(value!)];
    }),
  );

export const hasFilter = ({ agent, member, holder, run, metadata, since, until }: ListingValues): boolean =>
  [agent, member, holder, run, metadata, since, until].some((value) => value !== undefined);

const filterOf = (options: ListingValues, now: number): ListOptions => {
  const { status, agent, member, holder, run, metadata } = options;
  const [since, until] = (['since', 'until'] as const).map((end) => parseMoment(`--${end}`, options[end], now));
  return {
    ...(status && { status }),
    ...(agent !== undefined && { agent }),
    ...(member !== undefined && { member }),
    ...(holder && { holder }),
    ...(run && { runStatus: [...run] }),
    ...(metadata && { metadata: parseMetadata(metadata) }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
  };
};

interface Page {
  readonly cursor?: string | undefined;
}

/** Reads the requested page, or with `--all` every page. */
export const readListing = async <P extends Page>(
  options: ListingValues,
  read: (query: ListOptions) => Promise<P>,
  { pageSize, now }: { readonly pageSize: number; readonly now: number },
): Promise<readonly [P, ...P[]]> => {
  const { limit: given, cursor, all } = options;
  const limit = parseCount('--limit', given, 1);
  const filter = filterOf(options, now);
  if (!all)
    return [await read({ ...filter, ...(limit !== undefined && { limit }), ...(cursor !== undefined && { cursor }) })];
  if ((limit ?? cursor) !== undefined) throw wrongCall('--all lists all sessions: leave out --limit and --cursor');
  const pages: [P, ...P[]] = [await read({ ...filter, limit: pageSize })];
  for (let last = pages[0]; last.cursor; ) {
    last = await read({ ...filter, limit: pageSize, cursor: last.cursor });
    pages.push(last);
  }
  return pages;
};

export const nothingListed = (options: ListingValues): string => {
  if (hasFilter(options)) return 'no session fits these filters';
  return options.status ? `no session is ${options.status}` : 'no sessions yet: `perdure open` makes one';
};
