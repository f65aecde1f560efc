import type { BlobStore } from './blobs.ts';
import type { Notes } from './notes.ts';
import type { Queue } from './queue.ts';
import type { Records } from './records.ts';
import type { Store } from './store.ts';

/** All that a runtime keeps: logs, blobs, who works on what, and what workspaces have beside their sessions. */
export type RuntimeStore = Store & BlobStore & Queue & Records & Notes;
