import type { Claim, Claimed, Holder, Queue, Work, WorkerState } from '../core/ports/queue.ts';
import type { Head, SessionKey, StoredEvent } from '../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../schema/ids.ts';
import { forgetMs, type KnownWorker, mayTake, pickWork } from '../stores/pick-work.ts';
import { workEntryOf } from '../stores/work-entry.ts';
import { type MemoryDatabase, type MemoryWork, type MemoryWorkspace, workspaceOf } from './memory-database.ts';

type Row = MemoryWork & SessionKey;

/** The order of the map is that of the queue, among those that are visible from the same time on. */
const putLast = (work: Map<SessionId, MemoryWork>, session: SessionId, row: MemoryWork): void => {
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
  if (!entry) return;
  const { seq = row?.seq, agent, priority } = entry;
  const now = Date.now();
  if (seq === undefined) return;
  if (!row) work.set(session, { seq, done: 0, agent, priority, visibleAt: now, lacksAgent: false });
  else if (seq <= row.seq)
    work.set(session, { ...row, agent, priority, lacksAgent: row.lacksAgent && agent === row.agent });
  else {
    const news = { ...row, seq, agent, priority, lacksAgent: false };
    if (row.holder || row.visibleAt <= now) work.set(session, news);
    else putLast(work, session, { ...news, visibleAt: now });
  }
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
  const { workspace, sessions, holder, forMs } = claim;
  const now = Date.now();
  const rows = rowsIn(database);
  const held = rows.filter((row) => row.holder && row.visibleAt > now);
  const workers = knownWorkers(database, held);
  const free = rows
    .filter((row) => row.visibleAt <= now && (workspace === undefined || row.workspace === workspace))
    .filter((row) => !sessions || sessions.includes(row.session))
    .filter((row) => mayTake(row, claim, { workers, now }));
  const atWork = {
    workspaces: countBy(held, (row) => row.workspace),
    agents: countBy(held, ({ agent }) => agent),
  };
  const taken = pickWork(free, atWork, claim).map(({ workspace, session, ...row }): Work => {
    const mine = { ...row, lacksAgent: false, holder, visibleAt: now + forMs };
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

/** Whether it left something to do now. */
export const finishIn = (
  { work }: MemoryWorkspace,
  session: SessionId,
  { worker, seq, inMs = Number.POSITIVE_INFINITY, ...options }: Parameters<Queue['finish']>[1],
): boolean => {
  const row = work.get(session);
  if (row?.holder?.worker !== worker) return false;
  const done = Math.max(row.done, seq);
  const visibleAt = Date.now() + (row.seq > done ? 0 : Math.max(0, inMs));
  const place = options.place ?? row.place;
  if (visibleAt < Number.POSITIVE_INFINITY || place !== undefined) {
    putLast(work, session, { ...row, done, visibleAt, place, holder: undefined });
  } else work.delete(session);
  return visibleAt <= Date.now();
};

/** Whether it may be taken now. */
export const releaseIn = (
  { work }: MemoryWorkspace,
  session: SessionId,
  { worker, inMs = 0, lacksAgent = false }: Parameters<Queue['release']>[1],
): boolean => {
  const row = work.get(session);
  if (row?.holder?.worker !== worker) return false;
  putLast(work, session, { ...row, visibleAt: Date.now() + Math.max(0, inMs), lacksAgent, holder: undefined });
  return inMs <= 0;
};

/** The workspaces in which it gave something back. */
export const leaveIn = (database: MemoryDatabase, worker: string): ReadonlySet<WorkspaceId> => {
  database.workers.delete(worker);
  const own = rowsIn(database).filter(({ holder }) => holder?.worker === worker);
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
