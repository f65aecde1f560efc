import type { SessionId } from '../../schema/ids.ts';
import type { WorkerAccess } from '../engine/scope.ts';

/** A worker that sent a heartbeat recently, as callers in a workspace see it. */
export interface WorkerInfo {
  readonly worker: string;
  /**
   * The machine as its data folder names it, and the worker's process on that machine. Callers with an API key do not
   * see them.
   */
  readonly machine?: string | undefined;
  readonly process?: number | undefined;
  /** Whether the worker serves only this workspace. */
  readonly isOwn: boolean;
  /** The agents that the worker can execute, as `name@version`. */
  readonly agents: readonly string[];
  /** The maximum number of sessions at the same time. */
  readonly concurrency: number;
  /**
   * The number of sessions that the worker holds, in all workspaces. For callers with an API key, only those in this
   * workspace.
   */
  readonly busy: number;
  /** Whether the worker can claim another session now. */
  readonly hasRoom: boolean;
  /** The sessions of this workspace that the worker holds. */
  readonly holds: readonly SessionId[];
  readonly status: 'working' | 'draining' | 'lost';
  readonly startedAt: number;
  readonly seenAt: number;
}

/**
 * The workers that serve the workspace. Only the program itself sees the machines of the workers and their work in
 * other workspaces.
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
