import type { DatabaseSync } from 'node:sqlite';
import type { Work, WorkerState } from '../../../core/ports/queue.ts';
import type { SessionKey } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { type WorkerRow, type WorkRow, workerOf, workOf } from '../../queue/stored-work.ts';

export type WorkFinder = (workspace: WorkspaceId, limit: number) => readonly Work[];

export const openWorkFinder = (db: DatabaseSync): WorkFinder => {
  const find = db.prepare(`
    SELECT session, seq, agent, worker, machine, process, process_start AS processStart, visible_at <= ?2 AS isExpired
    FROM work WHERE workspace = ?1 AND (worker IS NOT NULL OR visible_at <= ?2)
    ORDER BY visible_at > ?2, visible_at, id LIMIT ?3`);
  return (workspace, limit) =>
    find.all(workspace, Date.now(), limit).map((row) => workOf(workspace, row as unknown as WorkRow));
};

export const openWorkerList = (db: DatabaseSync): (() => readonly WorkerState[]) => {
  const list = db.prepare(`
    SELECT worker, machine, process, process_start AS processStart, place, workspace, agents, concurrency,
      draining AS isDraining, started_at AS startedAt, seen_at AS seenAt, lost_at <= ? AS isLost
    FROM workers ORDER BY started_at, worker`);
  const held = db.prepare('SELECT workspace, session FROM work WHERE worker = ? ORDER BY workspace, session');
  return () =>
    list.all(Date.now()).map(({ agents, ...row }) =>
      workerOf(
        { ...row, agents: JSON.parse(String(agents)) } as unknown as WorkerRow,
        held.all(row.worker!).map((key) => ({ ...key }) as unknown as SessionKey),
      ),
    );
};
