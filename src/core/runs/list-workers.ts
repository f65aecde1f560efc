import type { SessionId } from '../../schema/ids.ts';
import type { WorkerAccess } from '../engine/scope.ts';

/** A worker that was heard of lately, as a workspace sees it. */
export interface WorkerInfo {
  readonly worker: string;
  /** The machine, as its data folder calls it, and the process there: told to the program itself, not to who came by a key. */
  readonly machine?: string | undefined;
  readonly process?: number | undefined;
  /** It works for this workspace alone. */
  readonly isOwn: boolean;
  /** As `name@version`. */
  readonly agents: readonly string[];
  /** Sessions at once. */
  readonly concurrency: number;
  /** Sessions that it has now: in all workspaces, or for who came by a key in this one. */
  readonly busy: number;
  /** It can take another session now. */
  readonly hasRoom: boolean;
  /** Those of this workspace. */
  readonly holds: readonly SessionId[];
  readonly status: 'working' | 'draining' | 'lost';
  readonly startedAt: number;
  readonly seenAt: number;
}

/** Those that work for the workspace. What they have of others, and where, is the business of whoever runs the program. */
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
