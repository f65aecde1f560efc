import type { DatabaseSync } from 'node:sqlite';
import type { Claim, Holder, Queue } from '../../../core/ports/queue.ts';
import type { SessionKey, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { forgetMs } from '../../queue/pick-work.ts';
import { claimed, entered, finished, isAmong, type QueuedWork, released } from '../../queue/queued-work.ts';
import { workEntryOf } from '../../queue/work-entry.ts';
import { inTransaction } from '../file/in-transaction.ts';

/** The columns of a row of `work`. */
export interface WorkColumns extends Omit<Holder, 'worker'>, SessionKey {
  readonly seq: number;
  readonly done: number;
  readonly agent: string;
  readonly priority: number;
  /** Null if the row is never due. */
  readonly visibleAt: number | null;
  readonly lacksAgent: number;
  readonly place: string | null;
  readonly worker: string | null;
}

export const workColumns = `workspace, session, seq, done, agent, priority, visible_at AS visibleAt, lacks_agent AS lacksAgent,
  place, worker, machine, process, process_start AS processStart`;

export const queuedWorkOf = (row: WorkColumns): QueuedWork & SessionKey => {
  const { workspace, session, seq, done, agent, priority, worker, machine, process, processStart } = row;
  return {
    workspace,
    session,
    seq,
    done,
    agent,
    priority,
    visibleAt: row.visibleAt ?? Number.POSITIVE_INFINITY,
    lacksAgent: row.lacksAgent === 1,
    ...(row.place !== null && { place: row.place }),
    ...(worker !== null && { holder: { worker, machine, process, processStart } }),
  };
};

type Workspaces = ReadonlySet<WorkspaceId>;

/**
 * The writer's side of the queue. `ready` marks claimable rows, so that claims need not read rows that wait. When a
 * waiting row becomes visible, the next claim marks it. A row gets a new, higher id whenever it becomes free work, so
 * that other processes notice it. Methods that return workspaces return those in which work can be claimed now.
 */
export interface WorkRows {
  /** Must run in the transaction that writes the events; `summary` must be the one after them. */
  enter(key: SessionKey, summary: SessionSummary, events: readonly StoredEvent[]): void;
  /** Must run in the transaction that found the work. */
  take(work: QueuedWork & SessionKey, claim: Pick<Claim, 'holder' | 'forMs'>, now: number): void;
  touch(...asked: Parameters<Queue['touch']>): readonly SessionKey[];
  finish(...asked: Parameters<Queue['finish']>): Workspaces;
  release(...asked: Parameters<Queue['release']>): Workspaces;
  /** Must run inside a transaction. */
  leave(worker: string): Workspaces;
  /** Must run inside a transaction. Releases all work of the worker except `kept`. */
  free(worker: string, kept: readonly SessionKey[]): Workspaces;
}

export const openWorkRows = (db: DatabaseSync): WorkRows => {
  const one = db.prepare(`SELECT ${workColumns} FROM work WHERE workspace = ? AND session = ?`);
  const ofWorker = db.prepare(`SELECT ${workColumns} FROM work WHERE worker = ? ORDER BY workspace, session`);
  const put =
    db.prepare(`INSERT OR REPLACE INTO work (workspace, session, seq, done, agent, priority, visible_at, ready,
    lacks_agent, place) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  const describe = db.prepare(`UPDATE work SET seq = ?, agent = ?, priority = ?, lacks_agent = ?
    WHERE workspace = ? AND session = ?`);
  const take =
    db.prepare(`UPDATE work SET worker = ?, machine = ?, process = ?, process_start = ?, visible_at = ?, ready = 0,
    lacks_agent = 0 WHERE workspace = ? AND session = ?`);
  const remove = db.prepare('DELETE FROM work WHERE workspace = ? AND session = ?');
  const present =
    db.prepare(`INSERT INTO workers (worker, machine, process, process_start, place, workspace, agents, concurrency,
      draining, started_at, seen_at, lost_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?10, ?11)
    ON CONFLICT (worker) DO UPDATE SET machine = ?2, process = ?3, process_start = ?4, place = ?5, workspace = ?6, agents = ?7,
      concurrency = ?8, draining = ?9, seen_at = ?10, lost_at = ?11`);
  const forget = db.prepare('DELETE FROM workers WHERE worker = ?1 OR lost_at <= ?2');
  const renew = db.prepare(`UPDATE work SET visible_at = ?4, ready = 0
    WHERE workspace = ?2 AND session = ?3 AND worker = ?1`);

  const read = ({ workspace, session }: SessionKey): QueuedWork | undefined => {
    const row = one.get(workspace, session) as WorkColumns | undefined;
    return row && queuedWorkOf(row);
  };
  const own = (key: SessionKey, worker: string): QueuedWork | undefined => {
    const row = read(key);
    return row?.holder?.worker === worker ? row : undefined;
  };
  /** Writes a row that no worker holds. */
  const putFree = ({ workspace, session }: SessionKey, row: QueuedWork, now: number): Workspaces => {
    const { seq, done, agent, priority, visibleAt, lacksAgent, place = null } = row;
    const visible = Number.isFinite(visibleAt) ? Math.ceil(visibleAt) : null;
    const isReady = visibleAt <= now;
    put.run(workspace, session, seq, done, agent, priority, visible, Number(isReady), Number(lacksAgent), place);
    return new Set(isReady ? [workspace] : []);
  };
  const free = (worker: string, kept: readonly SessionKey[]): Workspaces => {
    const now = Date.now();
    const own = (ofWorker.all(worker) as unknown as readonly WorkColumns[]).map(queuedWorkOf);
    const rows = own.filter((row) => !isAmong(kept, row));
    for (const row of rows) putFree(row, released(row, {}, now), now);
    return new Set(rows.map(({ workspace }) => workspace));
  };

  return {
    enter: ({ workspace, session }, summary, events) => {
      const entry = workEntryOf(summary, events);
      if (!entry) return;
      const [row, now] = [read({ workspace, session }), Date.now()];
      const next = entered(row, entry, now);
      if (!next) return;
      const keepsPlace = next.visibleAt === row?.visibleAt && entry.seq !== undefined;
      if (!next.holder && !keepsPlace) putFree({ workspace, session }, next, now);
      else describe.run(next.seq, next.agent, next.priority, Number(next.lacksAgent), workspace, session);
    },
    take: (work, claim, now) => {
      const { worker, machine, process, processStart } = claim.holder;
      const visibleAt = Math.ceil(claimed(work, claim, now).visibleAt);
      take.run(worker, machine, process, processStart, visibleAt, work.workspace, work.session);
    },
    touch: (presence, { held, forMs }) =>
      inTransaction(db, () => {
        const { holder, place, workspace = null, agents, concurrency, isDraining } = presence;
        const { worker, machine, process, processStart } = holder;
        const now = Date.now();
        const lostAt = Math.ceil(now + forMs);
        forget.run(null, now - forgetMs);
        const about = [place, workspace, JSON.stringify(agents), concurrency, Number(isDraining)] as const;
        present.run(worker, machine, process, processStart, ...about, now, lostAt);
        return held.filter((key) => renew.run(worker, key.workspace, key.session, lostAt).changes === 1);
      }),
    finish: (key, options) =>
      inTransaction(db, () => {
        const [row, now] = [own(key, options.worker), Date.now()];
        const left = row && finished(row, options, now);
        if (left) return putFree(key, left, now);
        if (row) remove.run(key.workspace, key.session);
        return new Set();
      }),
    release: (key, options) =>
      inTransaction(db, () => {
        const [row, now] = [own(key, options.worker), Date.now()];
        return row ? putFree(key, released(row, options, now), now) : new Set();
      }),
    leave: (worker) => {
      forget.run(worker, 0);
      return free(worker, []);
    },
    free,
  };
};
