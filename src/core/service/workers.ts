export type { Worker, WorkerCondition } from '../run/worker.ts';
export type { WorkerOptions } from '../run/worker-options.ts';

import type { SessionId } from '../../schema/ids.ts';
import type { Scope } from './scope.ts';

/** A worker that was heard of lately, as a workspace sees it. */
export interface WorkerInfo {
  readonly worker: string;
  /** The machine, as its data folder calls it. */
  readonly machine: string;
  readonly process: number;
  /** It works for this workspace alone. */
  readonly isOwn: boolean;
  /** As `name@version`. */
  readonly agents: readonly string[];
  /** Sessions at once. */
  readonly concurrency: number;
  /** Sessions that it has now, in all workspaces. */
  readonly busy: number;
  /** Those of this workspace. */
  readonly holds: readonly SessionId[];
  readonly status: 'working' | 'draining' | 'lost';
  readonly startedAt: number;
  readonly seenAt: number;
}

/** Those that work for the workspace. */
export const listWorkers = async ({ queue, workspace }: Scope): Promise<readonly WorkerInfo[]> => {
  const all = (await queue.workers()).filter((each) => each.workspace === undefined || each.workspace === workspace);
  return all.map((each) => ({
    worker: each.holder.worker,
    machine: each.place,
    process: each.holder.process,
    isOwn: each.workspace !== undefined,
    agents: each.agents,
    concurrency: each.concurrency,
    busy: each.holds.length,
    holds: each.holds.flatMap((key) => (key.workspace === workspace ? key.session : [])),
    status: each.isLost ? 'lost' : each.isDraining ? 'draining' : 'working',
    startedAt: each.startedAt,
    seenAt: each.seenAt,
  }));
};
