import { blobEventTypes } from '../../core/session/events/blob-events.ts';

/**
 * SQL condition for events that name blobs. The partial index uses this exact text, and a query must repeat it to use
 * that index.
 */
export const isBlobEvent = `type IN (${blobEventTypes.map((type) => `'${type}'`).join(', ')})`;
