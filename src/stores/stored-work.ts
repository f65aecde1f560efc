import type { Work } from '../core/ports/queue.ts';
import type { SessionId, WorkspaceId } from '../schema/ids.ts';

/** A row of `work` as stores read it. */
export interface WorkRow {
  readonly session: SessionId;
  readonly seq: number;
  readonly worker: string | null;
  readonly machine: string;
  readonly process: number;
  readonly processStart: string;
  readonly isExpired: number | boolean;
}

export const workOf = (workspace: WorkspaceId, row: WorkRow): Work => {
  const { session, seq, worker, machine, process, processStart, isExpired } = row;
  if (worker === null) return { workspace, session, seq };
  return {
    workspace,
    session,
    seq,
    lease: { holder: { worker, machine, process, processStart }, isExpired: Boolean(isExpired) },
  };
};
