import type { AppendRequest } from '../../../core/ports/store.ts';
import type { Call } from './protocol.ts';

/** Limits of one transaction, so that no writer waits long for the lock. */
export const maxBatchBytes = 8 * 1024 * 1024;
export const maxBatchCalls = 1000;

export const requestOf = (call: Call): AppendRequest => call.args[0] as AppendRequest;

const bytesOf = ({ events }: AppendRequest): number => events.reduce((sum, { payload }) => sum + payload.length, 0);

/** Takes the appends at the head of the queue for one transaction: at least one, within the limits. */
export const takeBatch = (queue: Call[]): readonly Call[] => {
  let bytes = 0;
  const end = queue.findIndex((call, index) => {
    if (call.op !== 'append' || index >= maxBatchCalls) return true;
    bytes += bytesOf(requestOf(call));
    return index > 0 && bytes > maxBatchBytes;
  });
  return queue.splice(0, end < 0 ? queue.length : end);
};
