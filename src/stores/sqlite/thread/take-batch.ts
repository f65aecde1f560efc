import type { AppendRequest } from '../../../core/ports/store.ts';
import type { Call } from './protocol.ts';

/** Bounds of one transaction, so that nobody waits long for the write lock. */
export const maxBatchBytes = 8 * 1024 * 1024;
export const maxBatchCalls = 1000;

export const requestOf = (call: Call): AppendRequest => call.args[0] as AppendRequest;

const bytesOf = ({ events }: AppendRequest): number => events.reduce((sum, { payload }) => sum + payload.length, 0);

/** The appends at the head of the queue that go into one transaction: at least one, and no more than the bounds allow. */
export const takeBatch = (queue: Call[]): readonly Call[] => {
  let bytes = 0;
  const end = queue.findIndex((call, index) => {
    if (call.op !== 'append' || index >= maxBatchCalls) return true;
    bytes += bytesOf(requestOf(call));
    return index > 0 && bytes > maxBatchBytes;
  });
  return queue.splice(0, end < 0 ? queue.length : end);
};
