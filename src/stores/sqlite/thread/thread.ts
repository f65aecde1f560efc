import { workerData } from 'node:worker_threads';
import type { ThreadData } from './thread-data.ts';

const data = workerData as ThreadData;
/** Each role imports only its own code: the reader starts sooner without the schemas and the append rules. */
const serve: Record<ThreadData['role'], () => Promise<void>> = {
  reader: async () => (await import('./serve-reads.ts')).serveReads(data),
  writer: async () => (await import('./serve-writes.ts')).serveWrites(data),
  backUp: async () => (await import('./serve-back-up.ts')).serveBackUp(data),
};
await serve[data.role]();
