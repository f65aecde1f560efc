import { workerData } from 'node:worker_threads';
import type { ThreadData } from './thread-data.ts';

/** The reader needs neither the schemas nor the rules of an append, and starts sooner without them. */
const data = workerData as ThreadData;
if (data.role === 'writer') (await import('./serve-writes.ts')).serveWrites(data);
else (await import('./serve-reads.ts')).serveReads(data);
