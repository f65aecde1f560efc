import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { BlobEventQuery, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { isBlobEvent } from '../../log/blob-event-condition.ts';
import { QueryText } from '../../log/query-text.ts';
import { eachRow } from '../file/each-row.ts';
import { prepareOnce } from '../file/prepare-once.ts';
import type { Blobs } from './blobs.ts';
import { type EventRow, eventColumns } from './event-rows.ts';
import { eventOf } from './read-events.ts';

export interface BlobEventFinder {
  find(workspace: WorkspaceId, query: BlobEventQuery): readonly StoredEvent[];
}

export const blobEvents = (workspace: WorkspaceId, asked: BlobEventQuery) => {
  const query = new QueryText('?');
  const text = `SELECT ${eventColumns} FROM events INDEXED BY events_naming_blobs
    WHERE workspace = ${query.place(workspace)} AND ${isBlobEvent}${query.following(asked)}
    ORDER BY session, seq LIMIT ${query.place(asked.limit)}`;
  return { text, values: query.values as SQLInputValue[] };
};

export const openBlobEventFinder = (db: DatabaseSync, blobs: Blobs): BlobEventFinder => {
  const statement = prepareOnce(db, 'arrays');
  return {
    find: (workspace, query) => {
      const { text, values } = blobEvents(workspace, query);
      return [...eachRow<EventRow>(statement(text), ...values)].map((row) => eventOf(blobs, workspace, row));
    },
  };
};
