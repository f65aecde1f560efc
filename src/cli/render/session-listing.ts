import type { ListOptions } from '../../core/runtime/sessions.ts';
import { type Status, statuses } from '../../schema/statuses.ts';
import { choice, flag, text, type Values } from '../parse/command.ts';
import { parseCount } from '../parse/point.ts';
import { wrongCall } from '../parse/wrong-call.ts';

/** Options that select the sessions of a listing. */
export const listingOptions = {
  status: choice('STATUS', statuses, `only those that are ${statuses.join(', ')}`),
  limit: text('N', 'at most N; default 50'),
  cursor: text('CURSOR', 'continue from this cursor, given by an earlier --json answer'),
  all: flag('all of them'),
};

interface Page {
  readonly cursor?: string | undefined;
}

/** Reads the requested page, or with `--all` every page. */
export const readListing = async <P extends Page>(
  { status, limit: given, cursor, all }: Values<typeof listingOptions>,
  read: (query: ListOptions) => Promise<P>,
  pageSize: number,
): Promise<readonly [P, ...P[]]> => {
  const limit = parseCount('--limit', given, 1);
  const filter = status && { status };
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

export const nothingListed = (status: Status | undefined): string =>
  status ? `no session is ${status}` : 'no sessions yet: `perdure open` makes one';
