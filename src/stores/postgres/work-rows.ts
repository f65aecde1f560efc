import type pg from 'pg';
import type { Queue, Work } from '../../core/ports/queue.ts';
import type { SessionKey, StoredEvent } from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { type WorkRow, workOf } from '../stored-work.ts';
import { workSeqOf } from '../work-seq.ts';
import { type Database, prepared } from './database.ts';

const enter = prepared('enter_work', 'select perdure.enter_work($1, $2::text[], $3::bigint[])');

/** As `perdure.append` does; nothing when none of the events calls for work. */
export const enterWork = (
  { workspace, session }: SessionKey,
  events: readonly StoredEvent[],
): pg.QueryConfig | undefined => {
  const seq = workSeqOf(events);
  return seq === undefined ? undefined : enter(workspace, [session], [seq]);
};

const find = prepared(
  'find_work',
  `select session, seq, worker, machine, process, process_start as "processStart", expires_at <= now() as "isExpired"
   from perdure.work where workspace = $1 and (seq > done or due_at <= now())
   order by worker is not null and expires_at > now(), entered_at, session limit $2`,
);

export const findWork = async (database: Database, workspace: WorkspaceId, limit: number): Promise<readonly Work[]> => {
  const rows = await database.read<WorkRow>(workspace, find(workspace, limit));
  return rows.map((row) => workOf(workspace, row));
};

const isFree = prepared(
  'is_work_free',
  `select from perdure.work
   where workspace = $1 and (seq > done or due_at <= now()) and (worker is null or expires_at <= now()) limit 1`,
);

export const hasFreeWork = async (database: Database, workspace: WorkspaceId): Promise<boolean> =>
  (await database.read(workspace, isFree(workspace))).length > 0;

const take = prepared(
  'lease_work',
  `update perdure.work
   set worker = $3, machine = $4, process = $5, process_start = $6,
     expires_at = clock_timestamp() + $7::double precision * interval '1 millisecond'
   where workspace = $1 and session = $2
     and (worker is null or expires_at <= clock_timestamp() or worker in ($3, $8)) returning 1`,
);

export const leaseWork = async (
  database: Database,
  { workspace, session }: SessionKey,
  { holder: { worker, machine, process, processStart }, forMs, from }: Parameters<Queue['lease']>[1],
): Promise<boolean> => {
  const statement = take(workspace, session, worker, machine, process, processStart, forMs, from?.worker ?? null);
  const [taken] = await database.write(workspace, [statement]);
  return taken!.rows.length > 0;
};

const leave = prepared(
  'leave_work',
  `update perdure.work
   set done = greatest(done, $4), due_at = to_timestamp($5::double precision / 1000), entered_at = clock_timestamp(),
     worker = null, machine = null, process = null, process_start = null, expires_at = null
   where workspace = $1 and session = $2 and worker = $3
   returning seq, seq > done or due_at <= clock_timestamp() as left`,
);

/** What is left of a row when all is done: there is none but the one that was just released. */
const remove = prepared(
  'remove_work',
  `delete from perdure.work
   where workspace = $1 and session = $2 and worker is null and seq <= done and due_at is null`,
);

/** The seq that is still to be looked at; undefined when nothing is left to do now. */
export const releaseWork = async (
  database: Database,
  { workspace, session }: SessionKey,
  { worker, seq, dueAt }: Parameters<Queue['release']>[1],
): Promise<number | undefined> => {
  const statements = [leave(workspace, session, worker, seq, dueAt ?? null), remove(workspace, session)];
  const [released] = await database.write(workspace, statements);
  const row = released!.rows[0];
  return row?.left ? row.seq : undefined;
};
