import { z } from 'zod';
import { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { RunRecord } from '../../schema/run-record.ts';
import { runStatuses } from '../../schema/statuses.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { partsOfCursor, wrongCursor } from '../engine/page.ts';
import { keyOf, type LogAccess } from '../engine/scope.ts';
import type { ListQuery, SessionKey } from '../ports/store.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { type FoundRun, type RunPosition, type Scan, sessionRuns } from './session-runs.ts';

const Status = z.enum(runStatuses);
const Time = z.union([z.date(), z.number()]);
const Options = z.strictObject({
  status: z.union([Status, z.array(Status)]).optional(),
  /** Runs that were admitted in this time, both ends inclusive. */
  since: Time.optional(),
  until: Time.optional(),
  limit: z.int().min(1).max(1000).default(50),
  cursor: z.string().optional(),
});
export type RunsOptions = z.input<typeof Options>;

export interface RunPage {
  readonly runs: readonly RunRecord[];
  /** The cursor of the next page. Absent on the last page. A page can be short, because it reads a bounded part of the logs. */
  readonly cursor?: string;
}

export interface WorkspaceRunPage extends RunPage {
  /** Sessions whose log cannot be read. Their runs are missing. */
  readonly damaged: readonly SessionId[];
}

/** A page ends when it has read this many events. The next page continues there. */
const maxScanned = 20_000;

const parseOptions = (options: RunsOptions) => {
  const { status, since, until, limit, cursor } = parseInput('the query', Options, options);
  const wanted: readonly string[] | undefined = typeof status === 'string' ? [status] : status;
  const [from, to] = [Number(since ?? 0), Number(until ?? Number.POSITIVE_INFINITY)];
  const isWanted = ({ status: is, admittedAt }: RunRecord): boolean =>
    (!wanted || wanted.includes(is)) && admittedAt <= to;
  return { isWanted, since: from, limit, cursor };
};

/** Collects wanted runs until the page is full, the log was read far enough, or the runs are older than `since`. */
const collect = async <Found extends { readonly record: RunRecord }>(
  found: AsyncIterable<Found>,
  { isWanted, since, limit }: ReturnType<typeof parseOptions>,
  scan: Scan,
): Promise<{ readonly runs: readonly RunRecord[]; readonly last?: Found }> => {
  const runs: RunRecord[] = [];
  let last: Found | undefined;
  for await (const each of found) {
    if (last && (runs.length >= limit || scan.events >= maxScanned)) return { runs, last };
    if (each.record.admittedAt < since) break;
    if (isWanted(each.record)) runs.push(each.record);
    if (!last) scan.events = 0; // runs before this page must be read again, however many there are
    last = each;
  }
  return { runs };
};

const positionOf = (cursor: string | undefined): RunPosition | undefined => {
  if (cursor === undefined) return undefined;
  const [below, from] = partsOfCursor(cursor, /^(\d{1,15})\.(\d{1,15})$/).map(Number);
  return { below: below!, from: from! };
};

/** Returns the runs of one session, the last admitted one first. */
export const listRuns = async (scope: LogAccess, key: SessionKey, options: RunsOptions = {}): Promise<RunPage> => {
  const query = parseOptions(options);
  const scan: Scan = { events: 0 };
  const { runs, last } = await collect(sessionRuns(scope, key, positionOf(query.cursor), scan), query, scan);
  return { runs, ...(last && { cursor: `${last.next.below}.${last.next.from}` }) };
};

const pageSize = 200;

/** Whether the session can have runs: it has, or had before a rewind, an agent, and it got an input. */
const mayHaveRuns = ({ agent, rewound, status }: SessionSummary): boolean =>
  status !== 'open' && (agent !== undefined || rewound === true);

/** Yields the sessions that can have runs, newest change first. */
async function* sessionsWithRuns(scope: LogAccess, since: number): AsyncGenerator<SessionSummary, void, void> {
  for (let after: ListQuery['after']; ; ) {
    const { sessions, next } = await scope.store.list(scope.workspace, { limit: pageSize, after, since });
    for (const summary of sessions) if (mayHaveRuns(summary)) yield summary;
    if (!next) return;
    after = next;
  }
}

interface Place {
  readonly at: number;
  readonly session: string;
  readonly seq: number;
}

const placeOf = ({ admittedAt: at, session, seq }: RunRecord): Place => ({ at, session, seq });
const isOlder = (a: Place, b: Place): boolean =>
  a.at !== b.at ? a.at < b.at : a.session !== b.session ? a.session < b.session : a.seq < b.seq;

/** The runs of one session that are older than a place, read one by one. */
interface Source {
  readonly runs: AsyncGenerator<FoundRun, void, void>;
  readonly next: FoundRun;
}

/**
 * Yields the runs of the workspace, the last admitted one first. No run is newer than the last change of its session,
 * so a session is read only when the listing has come to the time of its last change.
 */
async function* workspaceRuns(
  scope: LogAccess,
  {
    before,
    since,
    scan,
    onDamage,
  }: {
    readonly before: Place | undefined;
    readonly since: number;
    readonly scan: Scan;
    readonly onDamage: (session: SessionId) => void;
  },
): AsyncGenerator<FoundRun, void, void> {
  const advance = async (session: SessionId, runs: Source['runs']): Promise<Source | undefined> => {
    try {
      for (;;) {
        const { value, done } = await runs.next();
        if (done || !value) return undefined;
        if (!before || isOlder(placeOf(value.record), before)) return { runs, next: value };
      }
    } catch (error) {
      if (!isSessionDamage(error)) throw error;
      onDamage(session);
      return undefined;
    }
  };
  const sources = new Set<Source>();
  const newest = (): Source | undefined =>
    [...sources].reduce<Source | undefined>(
      (best, each) => (best && isOlder(placeOf(each.next.record), placeOf(best.next.record)) ? best : each),
      undefined,
    );
  const sessions = sessionsWithRuns(scope, since);
  let session = (await sessions.next()).value;
  for (;;) {
    let best = newest();
    while (session && (!best || session.updatedAt >= best.next.record.admittedAt)) {
      const source = await advance(session.id, sessionRuns(scope, keyOf(scope, session.id), undefined, scan));
      if (source) sources.add(source);
      best = newest();
      session = (await sessions.next()).value;
    }
    if (!best) return;
    sources.delete(best);
    yield best.next;
    const further = await advance(best.next.record.session, best.runs);
    if (further) sources.add(further);
  }
}

const placeFrom = (cursor: string | undefined): Place | undefined => {
  if (cursor === undefined) return undefined;
  const [at, seq, session] = partsOfCursor(cursor, /^(\d{1,16})\.(\d{1,15})\.(.+)$/);
  if (!SessionId.safeParse(session).success) throw wrongCursor();
  return { at: Number(at), seq: Number(seq), session: session! };
};

/** Returns the runs of all sessions of the workspace, the last admitted one first. */
export const listWorkspaceRuns = async (scope: LogAccess, options: RunsOptions = {}): Promise<WorkspaceRunPage> => {
  const query = parseOptions(options);
  const scan: Scan = { events: 0 };
  const damaged: SessionId[] = [];
  const about = {
    before: placeFrom(query.cursor),
    since: query.since,
    scan,
    onDamage: (session: SessionId) => void damaged.push(session),
  };
  const { runs, last } = await collect(workspaceRuns(scope, about), query, scan);
  if (!last) return { runs, damaged };
  const { admittedAt, seq, session } = last.record;
  return { runs, damaged, cursor: `${admittedAt}.${seq}.${session}` };
};
