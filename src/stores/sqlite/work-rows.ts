import type { DatabaseSync } from 'node:sqlite';
import type { Queue, Work } from '../../core/ports/queue.ts';
import type { SessionKey, StoredEvent } from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { type WorkRow, workOf } from '../stored-work.ts';
import { workSeqOf } from '../work-seq.ts';
import { inTransaction } from './in-transaction.ts';

type LeaseOptions = Parameters<Queue['lease']>[1];
type ReleaseOptions = Parameters<Queue['release']>[1];

/** The writer's side. A row gets a new id, higher than any before, whenever there is work again that nobody has: the order of the queue. */
export interface WorkRows {
  /** In the transaction that writes the events. */
  enter(key: SessionKey, events: readonly StoredEvent[]): void;
  lease(key: SessionKey, options: LeaseOptions): boolean;
  /** Whether it left something to do. */
  release(key: SessionKey, options: ReleaseOptions): boolean;
}

export const openWorkRows = (db: DatabaseSync): WorkRows => {
  const stay = db.prepare(`UPDATE work SET seq = max(seq, ?3)
    WHERE workspace = ?1 AND session = ?2 AND (seq > done OR worker IS NOT NULL)`);
  const enter = db.prepare(`INSERT OR REPLACE INTO work (workspace, session, seq) SELECT ?1, ?2, ?3
    WHERE NOT EXISTS (SELECT 1 FROM work WHERE workspace = ?1 AND session = ?2 AND seq >= ?3)`);
  const lease = db.prepare(`UPDATE work SET worker = ?3, machine = ?4, process = ?5, process_start = ?6, expires_at = ?7
    WHERE workspace = ?1 AND session = ?2 AND (worker IS NULL OR expires_at <= ?8 OR worker IN (?3, ?9))`);
  const own = db.prepare('SELECT seq, done FROM work WHERE workspace = ? AND session = ? AND worker = ?');
  const leave = db.prepare(
    'INSERT OR REPLACE INTO work (workspace, session, seq, done, due_at) VALUES (?, ?, ?, ?, ?)',
  );
  const remove = db.prepare('DELETE FROM work WHERE workspace = ? AND session = ?');

  return {
    enter: ({ workspace, session }, events) => {
      const seq = workSeqOf(events);
      if (seq === undefined) return;
      if (stay.run(workspace, session, seq).changes === 0) enter.run(workspace, session, seq);
    },
    lease: ({ workspace, session }, { holder, forMs, from }) => {
      const { worker, machine, process, processStart } = holder;
      const now = Date.now();
      const columns = [
        worker,
        machine,
        process,
        processStart,
        Math.ceil(now + forMs),
        now,
        from?.worker ?? null,
      ] as const;
      return lease.run(workspace, session, ...columns).changes === 1;
    },
    release: ({ workspace, session }, { worker, seq, dueAt = Number.POSITIVE_INFINITY }) =>
      inTransaction(db, () => {
        const row = own.get(workspace, session, worker) as { seq: number; done: number } | undefined;
        if (!row) return false;
        const done = Math.max(row.done, seq);
        const isNews = row.seq > done;
        const due = Number.isFinite(dueAt) ? Math.ceil(dueAt) : null;
        if (isNews || due !== null) leave.run(workspace, session, row.seq, done, due);
        else remove.run(workspace, session);
        return isNews || dueAt <= Date.now();
      }),
  };
};

export type WorkFinder = (workspace: WorkspaceId, limit: number) => readonly Work[];

export const openWorkFinder = (db: DatabaseSync): WorkFinder => {
  const find = db.prepare(`
    SELECT session, seq, worker, machine, process, process_start AS processStart, expires_at <= ?2 AS isExpired
    FROM work WHERE workspace = ?1 AND (seq > done OR due_at <= ?2)
    ORDER BY worker IS NOT NULL AND expires_at > ?2, id LIMIT ?3`);
  return (workspace, limit) =>
    find.all(workspace, Date.now(), limit).map((row) => workOf(workspace, row as unknown as WorkRow));
};
