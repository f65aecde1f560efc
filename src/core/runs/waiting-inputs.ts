import type { Actor, RunId } from '../../schema/ids.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import type { QueuedInput } from '../session/runs/run-fold.ts';

/** An input that was admitted and has not begun: where it is found, and when its turn comes. */
export interface WaitingInput {
  readonly run: RunId;
  /** Of the event that admitted it. */
  readonly seq: number;
  readonly by: Actor;
  readonly policy: QueuedInput['policy'];
  /** In milliseconds since 1970. */
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
