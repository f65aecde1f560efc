import { type Claim, type Holder, type Presence, preferMs } from '../../core/ports/queue.ts';
import type { SessionKey } from '../../core/ports/store.ts';

/** A session without a live lease: no worker holds it, or its lease has lapsed. */
export interface FreeWork extends SessionKey {
  readonly agent: string;
  readonly priority: number;
  readonly visibleAt: number;
  /**
   * Whether a worker inspected the session as stranded and lacked its agent. The session then waits for a worker with
   * that agent.
   */
  readonly lacksAgent: boolean;
  readonly place?: string | undefined;
  /** The holder whose lease has lapsed. */
  readonly holder?: Holder | undefined;
}

/** A worker that is still listed. It may be draining or lost. */
export interface KnownWorker extends Omit<Presence, 'holder'> {
  readonly lostAt: number;
  readonly holds: number;
}

/** The number of sessions with a live lease, per workspace and per agent. */
export interface AtWork {
  readonly workspaces: ReadonlyMap<string, number>;
  readonly agents: ReadonlyMap<string, number>;
}

const byUrgency = (a: FreeWork, b: FreeWork): number => b.priority - a.priority || a.visibleAt - b.visibleAt;

/**
 * Shares free work fairly between workspaces: each pick counts as one more session at work in its workspace. Limits
 * apply to working on sessions, not to inspecting stranded ones.
 */
export const pickWork = <Row extends FreeWork>(
  free: readonly Row[],
  { workspaces, agents }: AtWork,
  { count, limits, strandedMs }: Pick<Claim, 'count' | 'limits' | 'strandedMs'>,
): readonly Row[] => {
  const { perWorkspace = Number.POSITIVE_INFINITY, perAgent = {} } = (strandedMs === undefined && limits) || {};
  const ranked = [...Map.groupBy(free, ({ workspace }) => workspace)].flatMap(([workspace, rows]) =>
    rows.toSorted(byUrgency).map((row, place) => ({ row, rank: (workspaces.get(workspace) ?? 0) + place })),
  );
  ranked.sort((a, b) => a.rank - b.rank || a.row.visibleAt - b.row.visibleAt);
  const picked: Row[] = [];
  const has = (already: number | undefined, isAlike: (row: Row) => boolean): number =>
    (already ?? 0) + picked.filter(isAlike).length;
  for (const { row } of ranked) {
    if (picked.length >= count) break;
    if (has(workspaces.get(row.workspace), ({ workspace }) => workspace === row.workspace) >= perWorkspace) continue;
    const most = perAgent[row.agent] ?? Number.POSITIVE_INFINITY;
    if (has(agents.get(row.agent), ({ agent }) => agent === row.agent) >= most) continue;
    picked.push(row);
  }
  return picked;
};

/** How long a lost worker stays in the listing. */
export const forgetMs = 3_600_000;

/** Whether this claim may take the free work; `workers` are all known workers. */
export const mayTake = (
  work: FreeWork,
  { holder, agents, place, strandedMs }: Pick<Claim, 'holder' | 'agents' | 'place' | 'strandedMs'>,
  { workers, now }: { readonly workers: readonly KnownWorker[]; readonly now: number },
): boolean => {
  const { agent, workspace, visibleAt } = work;
  if (work.holder?.worker === holder.worker) return false;
  const isOwn = agent === '' || agents.includes(agent);
  const serving = workers.filter(
    (worker) =>
      !worker.isDraining &&
      worker.lostAt > now &&
      (worker.workspace === undefined || worker.workspace === workspace) &&
      (agent === '' || worker.agents.includes(agent)),
  );
  if (strandedMs !== undefined) {
    return !isOwn && !work.lacksAgent && visibleAt <= now - strandedMs && serving.length === 0;
  }
  const hasFiles = (worker: KnownWorker): boolean => worker.place === work.place && worker.holds < worker.concurrency;
  const isReserved = work.place !== undefined && work.place !== place && visibleAt > now - preferMs;
  return isOwn && !(isReserved && serving.some(hasFiles));
};
