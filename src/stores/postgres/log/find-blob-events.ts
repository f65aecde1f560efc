import type pg from 'pg';
import type { BlobEventQuery, StoredEvent } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { isBlobEvent } from '../../log/blob-event-condition.ts';
import { QueryText } from '../../log/query-text.ts';
import type { Source } from '../server/database.ts';
import { type EventRow, eventColumns } from './event-rows.ts';
import { eventsOf } from './read-events.ts';

export const blobEvents = (workspace: WorkspaceId, asked: BlobEventQuery): pg.QueryConfig => {
  const query = new QueryText('$');
  const text = `select ${eventColumns} from perdure.events
    where workspace = ${query.place(workspace)} and ${isBlobEvent}${query.following(asked)}
    order by session, seq limit ${query.place(asked.limit)}`;
  return { text, values: query.values };
};

export const findBlobEvents = async (
  source: Source,
  workspace: WorkspaceId,
  query: BlobEventQuery,
): Promise<readonly StoredEvent[]> =>
  eventsOf(source, workspace, await source.read<EventRow>(workspace, blobEvents(workspace, query)));
