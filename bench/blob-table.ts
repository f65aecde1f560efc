import { Worker } from 'node:worker_threads';
import type { Blobs } from '../src/core/ports/blobs.ts';

export interface BlobTable extends Blobs {
  close(): Promise<void>;
}

/** Stores blobs in a SQLite file as our store does, in a thread: zstd, WAL, every batch synced to disk. */
export const openBlobTable = (file: string): BlobTable => {
  const worker = new Worker(new URL('./blob-table-thread.ts', import.meta.url), { workerData: { file } });
  const waiting = new Map<number, (value: unknown) => void>();
  let last = 0;
  worker.on('message', ({ id, value }: { id: number; value: unknown }) => {
    waiting.get(id)?.(value);
    waiting.delete(id);
  });
  const call = <T>(name: string, argument: unknown, transfer: readonly ArrayBuffer[] = []) =>
    new Promise<T>((resolve) => {
      const id = ++last;
      waiting.set(id, resolve as (value: unknown) => void);
      worker.postMessage({ id, name, argument }, transfer as ArrayBuffer[]);
    });
  return {
    putBlobs: (blobs) => call('putBlobs', blobs, [...new Set(blobs.map(({ bytes }) => bytes.buffer as ArrayBuffer))]),
    readBlob: (hash) => call('readBlob', hash),
    hasBlobs: (hashes) => call('hasBlobs', hashes),
    close: async () => {
      await worker.terminate();
    },
  };
};
