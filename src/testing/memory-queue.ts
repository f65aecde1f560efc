import type { Lease, Queue, Work } from '../core/ports/queue.ts';
import type { StoredEvent } from '../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../schema/ids.ts';
import { workSeqOf } from '../stores/work-seq.ts';
import type { MemoryWork, MemoryWorkspace } from './memory-database.ts';

/** The order of the map is that of the queue. */
const putLast = (work: Map<SessionId, MemoryWork>, session: SessionId, row: MemoryWork): void => {
  work.delete(session);
  work.set(session, row);
};

export const enterWork = (
  { work }: MemoryWorkspace,
  session: SessionId,
  events: readonly Pick<StoredEvent, 'type' | 'seq'>[],
): void => {
  const seq = workSeqOf(events);
  const row = work.get(session);
  if (seq === undefined || (row && seq <= row.seq)) return;
  if (row && (row.seq > row.done || row.lease)) work.set(session, { ...row, seq });
  else putLast(work, session, { seq, done: 0 });
};

const leaseOf = ({ lease }: MemoryWork): Lease | undefined =>
  lease && { holder: lease.holder, isExpired: lease.expiresAt <= Date.now() };

const isFree = ({ lease }: Work): boolean => !lease || lease.isExpired;

export const findWorkIn = (workspace: WorkspaceId, { work }: MemoryWorkspace, limit: number): readonly Work[] =>
  [...work]
    .filter(([, { seq, done, dueAt }]) => seq > done || (dueAt !== undefined && dueAt <= Date.now()))
    .map(([session, row]): Work => {
      const lease = leaseOf(row);
      return { workspace, session, seq: row.seq, ...(lease && { lease }) };
    })
    .sort((a, b) => Number(isFree(b)) - Number(isFree(a)))
    .slice(0, limit);

export const leaseIn = (
  { work }: MemoryWorkspace,
  session: SessionId,
  { holder, forMs, from }: Parameters<Queue['lease']>[1],
): boolean => {
  const row = work.get(session);
  if (!row) return false;
  const lease = leaseOf(row);
  if (lease && !lease.isExpired && ![holder.worker, from?.worker].includes(lease.holder.worker)) return false;
  work.set(session, { ...row, lease: { holder, expiresAt: Date.now() + forMs } });
  return true;
};

/** Whether it left something to do. */
export const releaseIn = (
  { work }: MemoryWorkspace,
  session: SessionId,
  { worker, seq, dueAt }: Parameters<Queue['release']>[1],
): boolean => {
  const row = work.get(session);
  if (row?.lease?.holder.worker !== worker) return false;
  const done = Math.max(row.done, seq);
  if (row.seq > done || dueAt !== undefined) putLast(work, session, { seq: row.seq, done, dueAt });
  else work.delete(session);
  return row.seq > done || (dueAt !== undefined && dueAt <= Date.now());
};
