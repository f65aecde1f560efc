import type { Actor, RunId } from '../../schema/ids.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { QueuedInput } from '../session/runs/run-fold.ts';

/** An admitted input whose run has not begun. */
export interface WaitingInput {
  readonly run: RunId;
  /** The seq of the event that admitted it. */
  readonly seq: number;
  readonly by: Actor;
  readonly policy: QueuedInput['policy'];
  /** The earliest start of the run, in milliseconds since 1970. */
  readonly notBefore?: number | undefined;
}

export const waitingInputs = async (scope: LogAccess, key: SessionKey): Promise<readonly WaitingInput[]> => {
  const { queue } = await scope.folds.outline(key);
  return queue.map(({ run, seq, by, policy, notBefore }) => ({
    run,
    seq,
    by,
    policy,
    ...(notBefore !== undefined && { notBefore }),
  }));
};
