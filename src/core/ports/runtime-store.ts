import type { BlobStore } from './blobs.ts';
import type { Queue } from './queue.ts';
import type { Store } from './store.ts';

/** All that a runtime keeps: logs, blobs, and who works on what. */
export type RuntimeStore = Store & BlobStore & Queue;
