import type { Claim, Claimed, Holder, Queue, Work, WorkerState } from '../core/ports/queue.ts';
import type { Head, SessionKey, StoredEvent } from '../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../schema/ids.ts';
import { forgetMs, type KnownWorker, mayTake, pickWork } from '../stores/queue/pick-work.ts';
import { claimed, entered, finished, isAmong, type QueuedWork, released } from '../stores/queue/queued-work.ts';
import { workEntryOf } from '../stores/queue/work-entry.ts';
import { type MemoryDatabase, type MemoryWorkspace, workspaceOf } from './memory-database.ts';

type Row = QueuedWork & SessionKey;

/** Map order is queue order among rows with the same visible time. */
const putLast = (work: Map<SessionId, QueuedWork>, session: SessionId, row: QueuedWork): void => {
  work.delete(session);
  work.set(session, row);
};

export const enterWork = (
  { work }: MemoryWorkspace,
  { session, summary }: Head,
  events: readonly Pick<StoredEvent, 'type' | 'seq'>[],
): void => {
  const entry = workEntryOf(summary, events);
  const row = work.get(session);
  const next = entry && entered(row, entry, Date.now());
  if (!next) return;
  if (next.visibleAt === row?.visibleAt) work.set(session, next);
  else putLast(work, session, next);
};

const rowsIn = ({ workspaces }: MemoryDatabase): readonly Row[] =>
  [...workspaces].flatMap(([workspace, { work }]) =>
    [...work].map(([session, row]) => ({ workspace, session, ...row })),
  );

const workOf = ({ workspace, session, seq, agent, holder, visibleAt }: Row): Work => ({
  workspace,
  session,
  seq,
  agent,
  ...(holder && { lease: { holder, isExpired: visibleAt <= Date.now() } }),
});

export const findWorkIn = (workspace: WorkspaceId, { work }: MemoryWorkspace, limit: number): readonly Work[] => {
  const now = Date.now();
  return [...work]
    .map(([session, row]): Row => ({ workspace, session, ...row }))
    .filter(({ holder, visibleAt }) => holder || visibleAt <= now)
    .sort((a, b) => Number(a.visibleAt > now) - Number(b.visibleAt > now) || a.visibleAt - b.visibleAt)
    .slice(0, limit)
    .map(workOf);
};

const countBy = <Key>(rows: readonly Row[], key: (row: Row) => Key): ReadonlyMap<Key, number> =>
  new Map([...Map.groupBy(rows, key)].map(([name, { length }]) => [name, length]));

const knownWorkers = ({ workers }: MemoryDatabase, rows: readonly Row[]): readonly KnownWorker[] => {
  const holds = countBy(rows, ({ holder }) => holder?.worker);
  return [...workers].map(([worker, { presence, lostAt }]) => ({ ...presence, lostAt, holds: holds.get(worker) ?? 0 }));
};

const neighboursOf = (rows: readonly Row[], { worker, machine }: Holder): readonly Holder[] => {
  const holders = rows.flatMap(({ holder }) => holder ?? []);
  const near = holders.filter((holder) => holder.machine === machine && holder.worker !== worker);
  return [...new Map(near.map((holder) => [holder.worker, holder])).values()];
};

export const claimIn = (database: MemoryDatabase, claim: Claim): Claimed => {
  const { workspace, sessions, holder } = claim;
  const now = Date.now();
  const rows = rowsIn(database);
  const held = rows.filter((row) => row.holder && row.visibleAt > now);
  const workers = knownWorkers(database, held);
  const free = rows
    .filter((row) => row.visibleAt <= now && (workspace === undefined || row.workspace === workspace))
    .filter((row) => !sessions || (workspace && sessions.includes(row.session)))
    .filter((row) => mayTake(row, claim, { workers, now }));
  const atWork = {
    workspaces: countBy(held, (row) => row.workspace),
    agents: countBy(held, ({ agent }) => agent),
  };
  const taken = pickWork(free, atWork, claim).map(({ workspace, session, ...row }): Work => {
    const mine = claimed(row, claim, now);
    workspaceOf(database, workspace).work.set(session, mine);
    return workOf({ workspace, session, ...mine });
  });
  return { taken, neighbours: neighboursOf(rows, holder) };
};

export const touchIn = (
  database: MemoryDatabase,
  presence: Parameters<Queue['touch']>[0],
  { held, forMs }: Parameters<Queue['touch']>[1],
): readonly SessionKey[] => {
  const { worker } = presence.holder;
  const now = Date.now();
  for (const [name, { lostAt }] of database.workers) if (lostAt <= now - forgetMs) database.workers.delete(name);
  const { startedAt = now } = database.workers.get(worker) ?? {};
  database.workers.set(worker, { presence, startedAt, seenAt: now, lostAt: now + forMs });
  return held.filter(({ workspace, session }) => {
    const { work } = workspaceOf(database, workspace);
    const row = work.get(session);
    if (row?.holder?.worker !== worker) return false;
    work.set(session, { ...row, visibleAt: now + forMs });
    return true;
  });
};

/** Finishes the work. Like a release, it returns whether the work can be claimed now. */
export const finishIn = (
  { work }: MemoryWorkspace,
  session: SessionId,
  options: Parameters<Queue['finish']>[1],
): boolean => {
  const [row, now] = [work.get(session), Date.now()];
  if (row?.holder?.worker !== options.worker) return false;
  const left = finished(row, options, now);
  if (left) putLast(work, session, left);
  else work.delete(session);
  return left !== undefined && left.visibleAt <= now;
};

export const releaseIn = (
  { work }: MemoryWorkspace,
  session: SessionId,
  options: Parameters<Queue['release']>[1],
): boolean => {
  const [row, now] = [work.get(session), Date.now()];
  if (row?.holder?.worker !== options.worker) return false;
  const left = released(row, options, now);
  putLast(work, session, left);
  return left.visibleAt <= now;
};

/** Returns the workspaces in which work was released. */
export const leaveIn = (database: MemoryDatabase, worker: string): ReadonlySet<WorkspaceId> => {
  database.workers.delete(worker);
  return freeIn(database, worker, []);
};

/** Releases all work of the worker except `kept`. */
export const freeIn = (
  database: MemoryDatabase,
  worker: string,
  kept: readonly SessionKey[],
): ReadonlySet<WorkspaceId> => {
  const own = rowsIn(database).filter((row) => row.holder?.worker === worker && !isAmong(kept, row));
  for (const { workspace, session } of own) releaseIn(workspaceOf(database, workspace), session, { worker });
  return new Set(own.map(({ workspace }) => workspace));
};

export const workersIn = (database: MemoryDatabase): readonly WorkerState[] => {
  const now = Date.now();
  const held = Map.groupBy(rowsIn(database), ({ holder }) => holder?.worker);
  return [...database.workers].map(([worker, { presence, startedAt, seenAt, lostAt }]) => ({
    ...presence,
    startedAt,
    seenAt,
    isLost: lostAt <= now,
    holds: (held.get(worker) ?? []).map(({ workspace, session }) => ({ workspace, session })),
  }));
};
