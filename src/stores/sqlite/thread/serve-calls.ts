import type { MessagePort } from 'node:worker_threads';
import { toErrorData } from '../../../schema/error-data.ts';
import { storeError } from '../file/store-error.ts';
import type { Call, Operations, Reply } from './protocol.ts';

export const failedReply = (id: number, error: unknown, file: string): Reply => ({
  id,
  error: toErrorData(storeError(error, file)),
});

/** `operations` runs at every call, so that a failed open is retried. */
export const serveCall = (port: MessagePort, file: string, operations: () => Operations, call: Call): void => {
  try {
    const operation = operations()[call.op];
    if (!operation) throw new Error(`unknown operation ${call.op}`);
    const { value, transfer = [] } = operation(...(call.args as never[]));
    port.postMessage({ replies: [{ id: call.id, value }] }, [...transfer]);
  } catch (error) {
    port.postMessage({ replies: [failedReply(call.id, error, file)] });
  }
};
