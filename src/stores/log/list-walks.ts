import type { SessionValue, ValueConditions } from '../../core/ports/session-value.ts';
import type { ListedSessions, ListPosition, ListQuery } from '../../core/ports/store.ts';
import { isSeenBy, namesOf } from '../../core/ports/viewers.ts';
import { anySession, viewerValue } from '../../core/session/session-values.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { exactLevel, spanOf, spanWidths } from './listing-key.ts';
import { safe } from './stored-summary.ts';

/** How many rows of an index a page reads at most per walk, if it must check each row against further conditions. */
const maxChecked = 2_000;
/** Two conditions with more sessions than this are not compared: neither is selective. */
export const maxCounted = 1_000;

/** A scan along the index of listings: the sessions with one value whose spans have one width, newest first. */
export interface Walk extends SessionValue {
  readonly level: number;
  /** The spans to read, both inclusive. */
  readonly top: number;
  readonly bottom: number;
}

/** A row that a walk has read. `fits` tells whether it meets the further conditions. */
export interface WalkedRow {
  readonly walk: number;
  readonly id: SessionId;
  readonly updatedAt: number;
  readonly fits: boolean | number;
}

export interface ListPlan {
  readonly walks: readonly Walk[];
  /** The conditions that the walks do not cover. */
  readonly checks: ValueConditions;
  /** The maximum number of rows of each walk. */
  readonly rows: number;
}

/** All conditions of a query as one conjunction. */
export const conditionsOf = ({ status, viewer, where = [] }: ListQuery): ValueConditions => [
  ...where,
  ...(viewer ? [namesOf(viewer).map(viewerValue)] : []),
  ...(status ? [status.map((value) => ({ name: 'status', value }))] : []),
];

/** Sorts before every stored row in a listing by change, even a row edited by hand. */
const start: ListPosition = { updatedAt: Number.POSITIVE_INFINITY, id: '\u{10ffff}' as SessionId };

/** The position after which a listing by change continues. `until` bounds it. */
export const positionOf = ({ after = start, until }: ListQuery): ListPosition =>
  until !== undefined && until < after.updatedAt ? { updatedAt: until + 1, id: '' as SessionId } : after;

export const sinceOf = ({ since = Number.NEGATIVE_INFINITY }: ListQuery): number => since;

/** How many rows a walk reads: the page and one row more, or up to the limit if rows must be checked. */
const rowsFor = (limit: number, isChecked: boolean): number =>
  isChecked ? Math.max(limit + 1, maxChecked) : limit + 1;

/** The plan of a listing by id, which walks along the ids and checks everything else. */
export const planById = (query: ListQuery): Omit<ListPlan, 'walks'> => {
  const checks = conditionsOf(query);
  const isChecked = checks.length > 0 || query.since !== undefined || query.until !== undefined;
  return { checks, rows: rowsFor(query.limit, isChecked) };
};

/** `counts` has the number of sessions that meet each condition, up to `maxCounted`. The walks cover the rarest one. */
export const planWalks = (query: ListQuery, conditions: ValueConditions, counts: readonly number[]): ListPlan => {
  const rarest = counts.indexOf(Math.min(...counts));
  const driving = conditions[rarest] ?? [anySession];
  const checks = conditions.filter((_, place) => place !== rarest);
  const [top, bottom] = [positionOf(query).updatedAt, sinceOf(query)];
  const walks = driving.flatMap((value) =>
    spanWidths.map((_, level) => ({ ...value, level, top: spanOf(level, top), bottom: spanOf(level, bottom) })),
  );
  return { walks, checks, rows: rowsFor(query.limit, checks.length > 0) };
};

export const isExact = ({ level }: Walk): boolean => level === exactLevel;

const isBefore = (a: ListPosition, b: ListPosition, by: ListQuery['by']): boolean => {
  if (by === 'id' || a.updatedAt === b.updatedAt) return by === 'id' ? a.id < b.id : a.id > b.id;
  return a.updatedAt > b.updatedAt;
};

export interface ChosenPage {
  readonly ids: readonly SessionId[];
  readonly next?: ListPosition | undefined;
}

/**
 * Merges walks into a page. A walk that read as many rows as it may ends the page at its last row, because the next
 * rows of that walk are unknown.
 */
export const mergeWalks = (
  rows: readonly WalkedRow[],
  { limit, by }: ListQuery,
  { rows: maxRows }: Pick<ListPlan, 'rows'>,
): ChosenPage => {
  const ends = [...Map.groupBy(rows, ({ walk }) => walk).values()]
    .filter((walked) => walked.length >= maxRows)
    .map((walked) => walked.reduce((last, each) => (isBefore(last, each, by) ? each : last)));
  const end = ends.reduce<WalkedRow | undefined>(
    (first, each) => (first && isBefore(first, each, by) ? first : each),
    undefined,
  );
  const found = new Map(rows.filter((row) => row.fits && !(end && isBefore(end, row, by))).map((row) => [row.id, row]));
  const sorted = [...found.values()].sort((a, b) => (isBefore(a, b, by) ? -1 : 1));
  const page = sorted.slice(0, limit);
  const last = sorted.length > limit ? page.at(-1) : end;
  const ids = page.map(({ id }) => id);
  return last ? { ids, next: { updatedAt: safe(last.updatedAt), id: last.id } } : { ids };
};

/**
 * Sorts the summaries of a page as it lists them. A session that was deleted meanwhile, or that the viewer no longer
 * sees, is missing.
 */
export const pageOf = (
  { ids, next }: ChosenPage,
  summaries: readonly SessionSummary[],
  { viewer }: ListQuery,
): ListedSessions => {
  const seen = viewer ? summaries.filter((summary) => isSeenBy(summary, viewer)) : summaries;
  const byId = new Map(seen.map((summary) => [summary.id, summary]));
  const sessions = ids.flatMap((id) => byId.get(id) ?? []);
  return next ? { sessions, next } : { sessions };
};

/** The least length of a text that finds an id by its end. */
export const leastEnding = 4;
/** The part of an id that its index by ending holds, reversed. */
export const endingChars = 12;
/** Sorts after every id that begins with the same text. */
export const beyond = '\u{10ffff}';
export const reversed = (text: string): string => [...text].reverse().join('');
