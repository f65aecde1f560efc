import { blobEventTypes } from '../../core/session/events/blob-events.ts';

/** Of a row of events; an index holds those alone, and a query must say the same words to get it. */
export const isBlobEvent = `type IN (${blobEventTypes.map((type) => `'${type}'`).join(', ')})`;
