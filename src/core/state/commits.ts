import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { indexedPrefix } from '../../schema/path-pattern.ts';
import { fillPage, maxPageItems, partsOfCursor, wrongCursor } from '../engine/page.ts';
import { firstLiveTurn } from '../engine/points.ts';
import type { LogAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { CallQuery, CallRecord, CommitQuery, EventRanges, SessionKey, StoredEvent } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive, type LiveRange, liveAndAfter, liveWithin } from '../session/live-lineage.ts';
import { type CommitRecord, commitRecord, isMatch } from '../session/state/commit-record.ts';
import { type CallDetails, defaultWithInput, withContents } from './call-contents.ts';
import { liveRecords } from './live-records.ts';
import { CallFilter, CommitFilter, many, type RecordWindow } from './record-filter.ts';
import { SaidReader } from './said.ts';

/** Small reads for small limits, so that a caller that wants few records does not wait for many. */
const readSizeFor = (limit: number): number => Math.min(200, Math.max(20, limit));
/** Reads of large commits get smaller, because a whole read is held in memory. */
const maxReadBytes = 2 * 1024 * 1024;

export interface CommitPage {
  readonly commits: readonly CommitRecord[];
  /** The cursor of the next page, which has older commits. Absent on the last page. */
  readonly cursor?: string;
}

export interface CallPage {
  readonly calls: readonly CallDetails[];
  /** The cursor of the next page, which has older calls. Absent on the last page. */
  readonly cursor?: string;
}

const time = (value: Date | number | undefined): number | undefined =>
  value === undefined ? undefined : Number(value);

/** Returns the number of the live turn that is `count`th from the end, or 0 if there are fewer turns. */
const turnFromEnd = async (scope: LogAccess, key: SessionKey, head: SessionFold, count: number): Promise<number> => {
  for (let span = count; ; span *= 2) {
    const from = Math.max(1, head.lastTurn - span + 1);
    const starts = await scope.store.turnStarts(key, { from, limit: span });
    const live = starts.filter(({ seq }) => isLive(head.live, seq));
    if (live.length >= count) return live.at(-count)!.turn;
    if (from === 1) return 0;
  }
};

interface TurnBounds {
  readonly from: number;
  readonly to: number;
}

const turnBounds = async (
  scope: LogAccess,
  key: SessionKey,
  head: SessionFold,
  { turns, last }: RecordWindow,
): Promise<TurnBounds> => ({
  from: last ? await turnFromEnd(scope, key, head, last.turns) : (turns?.from ?? 0),
  to: turns?.to ?? Number.POSITIVE_INFINITY,
});

/**
 * Returns the ranges of events to search. Turn numbers rise along the live lineage, so the range ends before the first
 * turn after `to`.
 */
const rangesFor = async (
  scope: LogAccess,
  key: SessionKey,
  head: SessionFold,
  { from, to }: TurnBounds,
  includeRewound: boolean,
): Promise<readonly LiveRange[]> => {
  const [first] = from > 0 ? await scope.store.turnStarts(key, { from, limit: 1 }) : [{ seq: 1 }];
  if (!first) return [];
  if (includeRewound) return [[first.seq, head.seq]];
  const next = to < head.lastTurn ? await firstLiveTurn(scope.store, key, head, to + 1) : undefined;
  return liveWithin(head.live, first.seq - 1, next ? next.seq - 1 : head.seq);
};

interface Place {
  readonly at: number;
  readonly session: SessionId;
  readonly seq: number;
  readonly turn: number;
}

interface Selection {
  readonly within: CallQuery['within'];
  /** The first turn of the query. Later pages keep it, because newer turns must not move the end of the listing. */
  readonly fromTurn: number;
  readonly isWanted: (record: Place) => boolean | Promise<boolean>;
}

const selectIn = async (
  scope: LogAccess,
  key: SessionKey,
  window: RecordWindow,
  start: Start | undefined,
): Promise<Selection> => {
  const head = await scope.folds.outline(key);
  const bounds = await turnBounds(
    scope,
    key,
    head,
    start ? { turns: { ...window.turns, from: start.fromTurn } } : window,
  );
  const { includeRewound = false } = window;
  const ranges = await rangesFor(scope, key, head, bounds, includeRewound);
  return {
    within: { session: key.session, ranges, live: liveAndAfter(includeRewound ? [[1, head.seq]] : head.live) },
    fromTurn: bounds.from,
    isWanted: ({ turn }) => bounds.from <= turn && turn <= bounds.to,
  };
};

const selectInWorkspace = (scope: LogAccess, { turns, last, includeRewound }: RecordWindow): Selection => {
  if (turns || last) {
    const field = turns ? 'turns' : 'last';
    throw new PerdureError(
      'INVALID_INPUT',
      `${field} counts the turns of one session: make the query on that session`,
      {
        details: { field },
      },
    );
  }
  return { within: undefined, fromTurn: 0, isWanted: includeRewound ? () => true : liveRecords(scope) };
};

const select = (scope: LogAccess, key: SessionKey | undefined, window: RecordWindow, start: Start | undefined) =>
  key ? selectIn(scope, key, window, start) : selectInWorkspace(scope, window);

/** Where a later page continues: before the last record of the page before it. */
interface Start {
  readonly before: NonNullable<CommitQuery['before']>;
  readonly fromTurn: number;
}

const startOf = (cursor: string | undefined): Start | undefined => {
  if (cursor === undefined) return undefined;
  const [at, seq, fromTurn, session] = partsOfCursor(cursor, /^(-?\d{1,16})\.(\d{1,15})\.(\d{1,15})\.(.+)$/);
  const id = SessionId.safeParse(session);
  if (!id.success) throw wrongCursor();
  return { before: { at: Number(at), session: id.data, seq: Number(seq) }, fromTurn: Number(fromTurn) };
};

const cursorAfter = ({ at, seq, session }: Place, fromTurn: number): string => `${at}.${seq}.${fromTurn}.${session}`;

interface Search<Found extends Place, Kept extends Place> {
  readonly find: (page: Pick<CommitQuery, 'before' | 'limit'>) => Promise<readonly Found[]>;
  readonly bytesOf: (found: Found) => number;
  /** Returns undefined for a record that the index matched by mistake. */
  readonly recordOf: (found: Found) => Kept | undefined;
  readonly isWanted: Selection['isWanted'];
  /** Adds what the agent said. */
  readonly withSaid: (records: readonly Kept[]) => Promise<readonly Kept[]>;
}

/** Yields the wanted records, newest first. Reads the index in small parts, the next when the caller needs it. */
async function* wantedRecords<Found extends Place, Kept extends Place>(
  { find, bytesOf, recordOf, isWanted, withSaid }: Search<Found, Kept>,
  limit: number,
  start: Start | undefined,
): AsyncGenerator<Kept, void, void> {
  let size = readSizeFor(1);
  for (let before = start?.before; ; ) {
    const page = await eventLoop.reading(() => find({ before, limit: size }));
    await eventLoop.slice();
    const records = page.flatMap((found) => recordOf(found) ?? []);
    const wanted = await Promise.all(records.map(isWanted));
    yield* await withSaid(records.filter((_, index) => wanted[index]));
    const last = page.at(-1);
    if (page.length < size || !last) return;
    before = { at: last.at, session: last.session, seq: last.seq };
    const bytes = page.reduce((sum, found) => sum + bytesOf(found), 0) / page.length;
    size = Math.max(1, Math.min(readSizeFor(limit), Math.floor(maxReadBytes / Math.max(1, bytes))));
  }
}

const cursorOf = (
  { items, isMore }: { readonly items: readonly Place[]; readonly isMore: boolean },
  { fromTurn }: Selection,
): { readonly cursor?: string } => (isMore ? { cursor: cursorAfter(items.at(-1)!, fromTurn) } : {});

/**
 * Returns a page of matching commits, newest first: of one session, or of the workspace if no session is given. Reads an index,
 * not the log.
 */
export const findCommits = async (
  scope: LogAccess,
  key: SessionKey | undefined,
  filter: CommitFilter = {},
): Promise<CommitPage> => {
  const parsed = parseInput('the query', CommitFilter, filter);
  const { path, tool, actor, provenance, since, until, limit = maxPageItems, cursor, ...window } = parsed;
  const levels = many(provenance);
  const start = startOf(cursor);
  const selection = await select(scope, key, window, start);
  const { within, isWanted } = selection;
  const query = {
    within,
    prefix: path === undefined ? undefined : indexedPrefix(path),
    tool,
    actor,
    provenance: levels,
    since: time(since),
    until: time(until),
  };
  const said = new SaidReader(scope, key);
  const search: Search<StoredEvent, CommitRecord> = {
    find: (page) => scope.store.findCommits(scope.workspace, { ...query, ...page }),
    bytesOf: ({ body }) => (body.kind === 'bytes' ? body.bytes.length : 0),
    recordOf: (stored) => {
      const record = commitRecord(decodeEvent(scope.workspace, stored) as SessionEvent<'state.committed'>);
      return isMatch(record, path, levels) ? record : undefined;
    },
    isWanted,
    withSaid: (records) => said.of(records),
  };
  const page = await fillPage(wantedRecords(search, limit, start), limit);
  return { commits: page.items, ...cursorOf(page, selection) };
};

/**
 * Yields the commits among these events that changed a path with this prefix, newest first. Reads the next page only
 * when the caller needs it.
 */
export async function* commitsWithin(
  scope: LogAccess,
  within: EventRanges,
  prefix: string,
  pageSize = readSizeFor(1),
): AsyncGenerator<CommitRecord, void, void> {
  for (let last: CommitQuery['before']; ; ) {
    const query = { within, prefix, limit: pageSize, before: last };
    const page = await eventLoop.reading(() => scope.store.findCommits(scope.workspace, query));
    for (const stored of page) {
      await eventLoop.slice();
      yield commitRecord(decodeEvent(scope.workspace, stored) as SessionEvent<'state.committed'>);
    }
    const end = page.at(-1);
    if (!end || page.length < pageSize) return;
    last = { at: end.at, session: end.session, seq: end.seq };
  }
}

interface CommitWindow {
  /** The fold at the point from which the events are read back. */
  readonly from: Pick<SessionFold, 'live' | 'seq'>;
  readonly before: number;
  readonly includeRewound: boolean;
}

/** Like `commitsWithin`, for all events of a session before the given event. */
export async function* eachCommit(
  scope: LogAccess,
  key: SessionKey,
  prefix: string,
  { from, before, includeRewound }: CommitWindow,
): AsyncGenerator<CommitRecord, void, void> {
  const ranges = liveWithin(includeRewound ? [[1, from.seq]] : from.live, 0, before - 1);
  yield* commitsWithin(scope, { session: key.session, ranges }, prefix, readSizeFor(maxPageItems));
}

/** Returns a page of matching tool calls, newest first. */
export const findCalls = async (
  scope: LogAccess,
  key: SessionKey | undefined,
  filter: CallFilter = {},
): Promise<CallPage> => {
  const parsed = parseInput('the query', CallFilter, filter);
  const { tool, actor, callId, run, status, since, until, input = false, cursor, ...rest } = parsed;
  const { limit = input ? defaultWithInput : maxPageItems, ...window } = rest;
  const start = startOf(cursor);
  const selection = await select(scope, key, window, start);
  const { within, isWanted } = selection;
  const query = { within, tool, actor, status: many(status), since: time(since), until: time(until) };
  const said = new SaidReader(scope, key);
  const search: Search<CallRecord, CallDetails> = {
    find: (page) => scope.store.findCalls(scope.workspace, { ...query, ...page }),
    bytesOf: () => 0,
    recordOf: (call) =>
      (run === undefined || call.run === run) && (callId === undefined || call.callId === callId) ? call : undefined,
    isWanted,
    withSaid: (records) => said.calls(records),
  };
  const page = await fillPage(wantedRecords(search, limit, start), limit);
  if (!input) return { calls: page.items, ...cursorOf(page, selection) };
  const detailed = await fillPage(withContents(scope, page.items), limit);
  const isMore = page.isMore || detailed.isMore;
  return { calls: detailed.items, ...cursorOf({ items: detailed.items, isMore }, selection) };
};
