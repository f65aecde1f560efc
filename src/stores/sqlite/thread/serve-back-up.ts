import { PerdureError } from '../../../schema/error.ts';
import { openConnection } from '../file/connection.ts';
import type { Call } from './protocol.ts';
import { serveCall } from './serve-calls.ts';
import type { ThreadData } from './thread-data.ts';

const diskFailures = [10, 13]; // IOERR, FULL

/** The store is only read, so a disk failure concerns the copy. */
const copyError = (error: unknown, target: string): unknown => {
  const isOfDisk = error instanceof Error && 'errcode' in error && diskFailures.includes(Number(error.errcode) & 0xff);
  if (!isOfDisk) return error;
  return new PerdureError('FILE_UNAVAILABLE', `cannot write ${target}: its disk is full or fails`, {
    details: { file: target },
    cause: error,
  });
};

const backUpOperations = (data: ThreadData) => ({
  /**
   * `part` is an empty file that later becomes `target`. VACUUM INTO copies within one read transaction, so the copy
   * is consistent.
   */
  copyInto: (part: string, target: string) => {
    const db = openConnection(data);
    try {
      db.prepare('VACUUM INTO ?').run(part);
    } catch (error) {
      throw copyError(error, target);
    } finally {
      db.close();
    }
    return { value: undefined };
  },
});

export type BackUpOperations = ReturnType<typeof backUpOperations>;

export const serveBackUp = (data: ThreadData): void => {
  const operations = backUpOperations(data);
  data.port.on('message', (calls: readonly Call[]) => {
    for (const call of calls) serveCall(data.port, data.file, () => operations, call);
  });
};
