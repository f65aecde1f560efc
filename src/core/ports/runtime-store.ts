import type { BlobStore } from './blobs.ts';
import type { Notes } from './notes.ts';
import type { Queue } from './queue.ts';
import type { Records } from './records.ts';
import type { Store } from './store.ts';

/** Everything that a runtime stores: logs, blobs, the queue, records and notes. */
export type RuntimeStore = Store & BlobStore & Queue & Records & Notes;
