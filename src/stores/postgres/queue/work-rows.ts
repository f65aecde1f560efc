import type pg from 'pg';
import type { Claim, Claimed, Queue, Work, WorkerState } from '../../../core/ports/queue.ts';
import type { SessionKey } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { delayOf, type WorkerRow, type WorkRow, workerOf, workOf } from '../../queue/stored-work.ts';
import type { WorkEntry } from '../../queue/work-entry.ts';
import type { Change } from '../../waking/watchers.ts';
import { type Database, prepared } from '../server/database.ts';
import { forgetLost } from './work-schema.ts';

/** The argument columns of `perdure.enter_work`. */
export const workColumns = (
  entries: readonly (WorkEntry & { readonly session: SessionId })[],
): readonly (readonly unknown[])[] => [
  entries.map(({ session }) => session),
  entries.map(({ seq }) => seq ?? null),
  entries.map(({ agent }) => agent),
  entries.map(({ priority }) => priority),
];

const enter = prepared(
  'enter_work',
  'select perdure.enter_work($1, $2::text[], $3::bigint[], $4::text[], $5::smallint[])',
);

/** Enters work like `perdure.append` does. */
export const enterWork = ({ workspace, session }: SessionKey, entry: WorkEntry): pg.QueryConfig =>
  enter(workspace, ...workColumns([{ session, ...entry }]));

const find = prepared(
  'find_work',
  `select session, seq, agent, worker, machine, process, process_start as "processStart", visible_at <= now() as "isExpired"
   from perdure.work where workspace = $1 and (ready or worker is not null or visible_at <= now())
   order by visible_at > now(), visible_at, session limit $2`,
);

export const findWork = async (database: Database, workspace: WorkspaceId, limit: number): Promise<readonly Work[]> => {
  const rows = await database.read<WorkRow>(workspace, find(workspace, limit));
  return rows.map((row) => workOf(workspace, row));
};

const isFree = prepared(
  'is_work_free',
  `select from (
     (select from perdure.work where ready order by agent, workspace, priority desc, visible_at limit 1)
     union all
     (select from perdure.work where not ready and visible_at < 'infinity' and visible_at <= now() order by visible_at limit 1)
   ) free`,
);

/** Whether any workspace has free work. Checking one workspace would take longer than a worker's futile claim. */
export const hasFreeWork = async (database: Database): Promise<boolean> => {
  const [answer] = await database.dispatch([isFree()]);
  return answer!.rows.length > 0;
};

type Freed = SessionKey & Pick<Change, 'seq'>;
const freedChange = ({ workspace, session, seq }: Freed): Change => ({ workspace, session, seq, work: true });

const claimWork = prepared('claim_work', 'select perdure.claim_work($1) as answer');

/** Claims work. Also returns the sessions that the claim released from dead workers. */
export type ClaimWork = (claim: Claim) => Promise<{ readonly claimed: Claimed; readonly freed: readonly Change[] }>;

export const openClaims = (database: Database): ClaimWork => {
  /** For each agent, the workspace from which the next claim continues, so that no workspace starves. */
  let cursors: Readonly<Record<string, string>> = {};
  return async (claim) => {
    const [answer] = await database.dispatch([claimWork(JSON.stringify({ ...claim, cursors })), database.admission]);
    const { taken, neighbours, freed, ...rest } = answer!.rows[0].answer;
    cursors = rest.cursors;
    const lease = { holder: claim.holder, isExpired: false };
    return {
      claimed: { taken: taken.map((work: Work) => ({ ...work, lease })), neighbours },
      freed: freed.map(freedChange),
    };
  };
};

const present = prepared(
  'touch_worker',
  `insert into perdure.workers as w (worker, machine, process, process_start, place, only_workspace, agents, concurrency,
     draining, started_at, seen_at, lost_at)
   select $1, $2, $3, $4, $5, $6, $7::text[], $8, $9, at, at, at + $10::double precision * interval '1 millisecond'
   from clock_timestamp() at
   on conflict (worker) do update
   set machine = excluded.machine, process = excluded.process, process_start = excluded.process_start,
     place = excluded.place, only_workspace = excluded.only_workspace, agents = excluded.agents,
     concurrency = excluded.concurrency, draining = excluded.draining, seen_at = excluded.seen_at, lost_at = excluded.lost_at`,
);

const renew = prepared(
  'renew_work',
  `update perdure.work w
   set ready = false, visible_at = clock_timestamp() + $4::double precision * interval '1 millisecond'
   from (
     select own.workspace, own.session
     from unnest($2::text[], $3::text[]) held(workspace, session) join perdure.work own using (workspace, session)
     where own.worker = $1 order by own.workspace, own.session for update of own
   ) own
   where w.workspace = own.workspace and w.session = own.session returning w.workspace, w.session`,
);

export const touchWorker = async (
  database: Database,
  { holder, place, workspace, agents, concurrency, isDraining }: Parameters<Queue['touch']>[0],
  { held, forMs }: Parameters<Queue['touch']>[1],
): Promise<readonly SessionKey[]> => {
  const { worker, machine, process, processStart } = holder;
  const about = [place, workspace ?? null, agents, concurrency, isDraining] as const;
  const keys = [held.map((key) => key.workspace), held.map(({ session }) => session)] as const;
  const answers = await database.dispatch([
    present(worker, machine, process, processStart, ...about, forMs),
    forgetLost,
    renew(worker, ...keys, forMs),
  ]);
  return answers.at(-1)!.rows;
};

const free = 'worker = null, machine = null, process = null, process_start = null';
const inMs = (place: string): string => `clock_timestamp() + ${place}::double precision * interval '1 millisecond'`;

const finish = prepared(
  'finish_work',
  `update perdure.work
   set done = greatest(done, $4), place = coalesce($6, place), ready = seq > greatest(done, $4) or coalesce($5::double precision, 1) <= 0,
     visible_at = case when seq > greatest(done, $4) then clock_timestamp() else coalesce(${inMs('$5')}, 'infinity') end, ${free}
   where workspace = $1 and session = $2 and worker = $3
   returning workspace, session, seq, ready`,
);

/** Removes the row if nothing is left to do or to remember. At this point only the row just finished can qualify. */
const remove = prepared(
  'remove_work',
  `delete from perdure.work where workspace = $1 and session = $2 and visible_at = 'infinity' and place is null`,
);

const giveBack = prepared(
  'release_work',
  `update perdure.work set ready = $4::double precision <= 0, visible_at = ${inMs('$4')}, lacks_agent = $5, ${free}
   where workspace = $1 and session = $2 and worker = $3
   returning workspace, session, seq, ready`,
);

const leave = prepared('leave_work', 'select * from perdure.leave_work(array[$1])');

const readyIn = (rows: readonly (Freed & { readonly ready: boolean })[]): readonly Change[] =>
  rows.filter(({ ready }) => ready).map(freedChange);

/** Finishes the work. Like a release, it returns the changes that make work available now. */
export const finishWork = async (
  database: Database,
  { workspace, session }: SessionKey,
  { worker, seq, place, ...options }: Parameters<Queue['finish']>[1],
): Promise<readonly Change[]> => {
  const delay = options.inMs === undefined ? null : delayOf(options.inMs);
  const statements = [finish(workspace, session, worker, seq, delay, place ?? null), remove(workspace, session)];
  const [finished] = await database.dispatch(statements);
  return readyIn(finished!.rows);
};

export const releaseWork = async (
  database: Database,
  { workspace, session }: SessionKey,
  { worker, lacksAgent = false, ...options }: Parameters<Queue['release']>[1],
): Promise<readonly Change[]> => {
  const delay = delayOf(options.inMs ?? 0);
  const [released] = await database.dispatch([giveBack(workspace, session, worker, delay, lacksAgent)]);
  return readyIn(released!.rows);
};

export const leaveWork = async (database: Database, worker: string): Promise<readonly Change[]> => {
  const [freed] = await database.dispatch([leave(worker)]);
  return freed!.rows.map(freedChange);
};

const list = prepared(
  'list_workers',
  `select worker, machine, process, process_start as "processStart", place, only_workspace as workspace, agents, concurrency,
     draining as "isDraining", floor(extract(epoch from started_at) * 1000)::bigint as "startedAt",
     floor(extract(epoch from seen_at) * 1000)::bigint as "seenAt", lost_at <= clock_timestamp() as "isLost",
     array(select workspace || '/' || session from perdure.work w where w.worker = k.worker order by 1) as holds
   from perdure.workers k order by started_at, worker`,
);

export const listWorkers = async (database: Database): Promise<readonly WorkerState[]> => {
  const [answer] = await database.dispatch([list()]);
  return answer!.rows.map(({ holds, ...row }: WorkerRow & { readonly holds: readonly string[] }) =>
    workerOf(
      row,
      holds.map((name) => {
        const [workspace, session] = name.split('/');
        return { workspace: workspace as WorkspaceId, session: session as SessionId };
      }),
    ),
  );
};
