import { isPerdureError } from '../../schema/error.ts';
import type { RunWriter } from '../engine/run-writer.ts';
import type { ModelAccess, SightAccess, WarningAccess, WriteAccess } from '../engine/scope.ts';
import { settleStops } from '../engine/settle-stops.ts';
import type { SessionKey } from '../ports/store.ts';

export type StopAccess = WriteAccess & WarningAccess & Pick<ModelAccess, 'previews'> & Pick<SightAccess, 'whole'>;

/**
 * Does work that follows from a stop. The stop is in the log, so its caller is answered even if this fails: the next
 * worker or command does the same work.
 */
export const afterStop = async ({ onWarning }: WarningAccess, work: () => Promise<unknown>): Promise<void> => {
  try {
    await work();
  } catch (error) {
    if (!isPerdureError(error, 'FENCED')) onWarning(error); // the process that fenced this one does it
  }
};

/** Settles the stop that `writer` made. */
export const settleAfterStop = (scope: StopAccess, key: SessionKey, writer: RunWriter | undefined): Promise<void> =>
  afterStop(scope, () => settleStops(scope, key, writer));
