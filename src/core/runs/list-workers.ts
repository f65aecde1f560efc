import type { SessionId } from '../../schema/ids.ts';
import type { WorkerAccess } from '../engine/scope.ts';

/** A worker that reported recently, as a workspace sees it. */
export interface WorkerInfo {
  readonly worker: string;
  /** The machine, as its data folder names it, and the process there. Callers with an API key do not see them. */
  readonly machine?: string | undefined;
  readonly process?: number | undefined;
  /** Whether it works for this workspace only. */
  readonly isOwn: boolean;
  /** As `name@version`. */
  readonly agents: readonly string[];
  /** The maximum number of sessions at once. */
  readonly concurrency: number;
  /** The number of sessions that it has: in all workspaces, or for callers with an API key only in this one. */
  readonly busy: number;
  /** Whether it can take another session now. */
  readonly hasRoom: boolean;
  /** The sessions of this workspace that it has. */
  readonly holds: readonly SessionId[];
  readonly status: 'working' | 'draining' | 'lost';
  readonly startedAt: number;
  readonly seenAt: number;
}

/**
 * The workers that serve the workspace. Only the program itself sees their machines and what they do in other
 * workspaces.
 */
export const listWorkers = async ({ queue, workspace, caller }: WorkerAccess): Promise<readonly WorkerInfo[]> => {
  const isProgram = caller.key === undefined;
  const all = (await queue.workers()).filter((each) => each.workspace === undefined || each.workspace === workspace);
  return all.map((each) => {
    const holds = each.holds.flatMap((key) => (key.workspace === workspace ? key.session : []));
    const status = each.isLost ? 'lost' : each.isDraining ? 'draining' : 'working';
    return {
      worker: each.holder.worker,
      ...(isProgram && { machine: each.place, process: each.holder.process }),
      isOwn: each.workspace !== undefined,
      agents: each.agents,
      concurrency: each.concurrency,
      busy: isProgram ? each.holds.length : holds.length,
      hasRoom: status === 'working' && each.holds.length < each.concurrency,
      holds,
      status,
      startedAt: each.startedAt,
      seenAt: each.seenAt,
    };
  });
};
