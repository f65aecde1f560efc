import { workerData } from 'node:worker_threads';
import type { ThreadData } from './thread-data.ts';

const data = workerData as ThreadData;
/** The reader needs neither the schemas nor the rules of an append, and starts sooner without them. */
const serve: Record<ThreadData['role'], () => Promise<void>> = {
  reader: async () => (await import('./serve-reads.ts')).serveReads(data),
  writer: async () => (await import('./serve-writes.ts')).serveWrites(data),
  backUp: async () => (await import('./serve-back-up.ts')).serveBackUp(data),
};
await serve[data.role]();
