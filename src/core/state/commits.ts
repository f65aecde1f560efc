import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { indexedPrefix } from '../../schema/path-pattern.ts';
import { firstLiveTurn } from '../engine/points.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { CallQuery, CommitQuery, EventRanges, SessionKey } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive, type LiveRange, liveAndAfter, liveWithin } from '../session/live-lineage.ts';
import { type CommitRecord, commitRecord, isMatch } from '../session/state/commit-record.ts';
import { type CallDetails, defaultWithInput, withContents } from './call-contents.ts';
import { liveRecords } from './live-records.ts';
import { CallFilter, CommitFilter, many, type RecordWindow } from './record-filter.ts';

const defaultLimit = 1000;
/** Small pages for small limits, so that a caller that wants few records does not wait for many. */
const pageSizeFor = (limit: number): number => Math.min(200, Math.max(20, limit));

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
  readonly isWanted: (record: Place) => boolean | Promise<boolean>;
}

const selectIn = async (scope: LogAccess, key: SessionKey, window: RecordWindow): Promise<Selection> => {
  const head = await scope.folds.outline(key);
  const bounds = await turnBounds(scope, key, head, window);
  const { includeRewound = false } = window;
  const ranges = await rangesFor(scope, key, head, bounds, includeRewound);
  return {
    within: { session: key.session, ranges, live: liveAndAfter(includeRewound ? [[1, head.seq]] : head.live) },
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
  return { within: undefined, isWanted: includeRewound ? () => true : liveRecords(scope) };
};

const select = (scope: LogAccess, key: SessionKey | undefined, window: RecordWindow) =>
  key ? selectIn(scope, key, window) : selectInWorkspace(scope, window);

/**
 * Collects the wanted records page by page, up to the limit. `recordOf` returns undefined for a record that the index
 * matched by mistake.
 */
const collect = async <Found extends Place, Kept extends Place>(
  find: (page: Pick<CommitQuery, 'before' | 'limit'>) => Promise<readonly Found[]>,
  recordOf: (found: Found) => Kept | undefined,
  isWanted: Selection['isWanted'],
  limit = defaultLimit,
): Promise<readonly Kept[]> => {
  const kept: Kept[] = [];
  const pageSize = pageSizeFor(limit);
  for (let before: CommitQuery['before']; kept.length < limit; ) {
    const page = await find({ before, limit: pageSize });
    const records = page.flatMap((found) => recordOf(found) ?? []);
    const wanted = await Promise.all(records.map(isWanted));
    kept.push(...records.filter((_, index) => wanted[index]));
    const last = page.at(-1);
    if (page.length < pageSize || !last) break;
    before = { at: last.at, session: last.session, seq: last.seq };
  }
  return kept.slice(0, limit);
};

/**
 * Returns matching commits, newest first: of one session, or of the workspace if no session is given. Reads an index,
 * not the log.
 */
export const findCommits = async (
  scope: LogAccess,
  key: SessionKey | undefined,
  filter: CommitFilter = {},
): Promise<readonly CommitRecord[]> => {
  const { path, tool, actor, provenance, since, until, limit, ...window } = parseInput(
    'the query',
    CommitFilter,
    filter,
  );
  const levels = many(provenance);
  const { within, isWanted } = await select(scope, key, window);
  const query = {
    within,
    prefix: path === undefined ? undefined : indexedPrefix(path),
    tool,
    actor,
    provenance: levels,
    since: time(since),
    until: time(until),
  };
  return collect(
    (page) => scope.store.findCommits(scope.workspace, { ...query, ...page }),
    (stored) => {
      const record = commitRecord(decodeEvent(scope.workspace, stored) as SessionEvent<'state.committed'>);
      return isMatch(record, path, levels) ? record : undefined;
    },
    isWanted,
    limit,
  );
};

/**
 * Yields the commits among these events that changed a path with this prefix, newest first. Reads the next page only
 * when the caller needs it.
 */
export async function* commitsWithin(
  scope: LogAccess,
  within: EventRanges,
  prefix: string,
  pageSize = pageSizeFor(1),
): AsyncGenerator<CommitRecord, void, void> {
  for (let last: CommitQuery['before']; ; ) {
    const page = await scope.store.findCommits(scope.workspace, { within, prefix, limit: pageSize, before: last });
    for (const stored of page)
      yield commitRecord(decodeEvent(scope.workspace, stored) as SessionEvent<'state.committed'>);
    const end = page.at(-1);
    if (!end || page.length < pageSize) return;
    last = { at: end.at, session: end.session, seq: end.seq };
  }
}

/** Like `commitsWithin`, for all events of a session before the given event. */
export async function* eachCommit(
  scope: LogAccess,
  key: SessionKey,
  prefix: string,
  { before, includeRewound }: { readonly before: number; readonly includeRewound: boolean },
): AsyncGenerator<CommitRecord, void, void> {
  const head = await scope.folds.outline(key);
  const ranges = liveWithin(includeRewound ? [[1, head.seq]] : head.live, 0, before - 1);
  yield* commitsWithin(scope, { session: key.session, ranges }, prefix, pageSizeFor(defaultLimit));
}

/** Returns matching tool calls, newest first. */
export const findCalls = async (
  scope: LogAccess,
  key: SessionKey | undefined,
  filter: CallFilter = {},
): Promise<readonly CallDetails[]> => {
  const parsed = parseInput('the query', CallFilter, filter);
  const { tool, actor, callId, run, status, since, until, input = false, ...rest } = parsed;
  const { limit = input ? defaultWithInput : undefined, ...window } = rest;
  const { within, isWanted } = await select(scope, key, window);
  const query = { within, tool, actor, status: many(status), since: time(since), until: time(until) };
  const calls = await collect(
    (page) => scope.store.findCalls(scope.workspace, { ...query, ...page }),
    (call) =>
      (run === undefined || call.run === run) && (callId === undefined || call.callId === callId) ? call : undefined,
    isWanted,
    limit,
  );
  return input ? withContents(scope, calls) : calls;
};
