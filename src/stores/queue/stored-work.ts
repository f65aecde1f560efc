import type { Holder, Work, WorkerState } from '../../core/ports/queue.ts';
import type { SessionKey } from '../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../schema/ids.ts';

/** A row of `work`, as stores read it. */
export interface WorkRow extends Omit<Holder, 'worker'> {
  readonly session: SessionId;
  readonly seq: number;
  readonly agent: string;
  readonly worker: string | null;
  readonly isExpired: number | boolean;
}

export const workOf = (workspace: WorkspaceId, row: WorkRow): Work => {
  const { session, seq, agent, worker, machine, process, processStart, isExpired } = row;
  if (worker === null) return { workspace, session, seq, agent };
  const holder = { worker, machine, process, processStart };
  return { workspace, session, seq, agent, lease: { holder, isExpired: Boolean(isExpired) } };
};

/** A row of `workers`, as stores read it. */
export interface WorkerRow extends Holder {
  readonly place: string;
  readonly workspace: WorkspaceId | null;
  readonly agents: readonly string[];
  readonly concurrency: number;
  readonly isDraining: number | boolean;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly isLost: number | boolean;
}

export const workerOf = (row: WorkerRow, holds: readonly SessionKey[]): WorkerState => {
  const { worker, machine, process, processStart, workspace, isDraining, isLost, ...rest } = row;
  return {
    holder: { worker, machine, process, processStart },
    ...(workspace !== null && { workspace }),
    ...rest,
    isDraining: Boolean(isDraining),
    isLost: Boolean(isLost),
    holds,
  };
};

const longestMs = 100 * 365 * 86_400_000;

/** Caps the delay, because no store's clock represents arbitrarily late times. */
export const delayOf = (inMs: number): number => Math.min(Math.max(0, inMs), longestMs);
