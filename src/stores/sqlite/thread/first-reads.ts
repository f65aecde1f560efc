import type { DatabaseSync } from 'node:sqlite';
import type { RecordQuery } from '../../../core/ports/records.ts';
import type { ListQuery, ReadRange, SessionKey } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import type { RecordKind } from '../../../schema/record-kind.ts';
import { withoutPlace } from '../../log/listing-key.ts';
import type { Blobs } from '../log/blobs.ts';
import { openEventReader } from '../log/read-events.ts';
import { openRecordRows } from '../log/record-rows.ts';
import { openSessions } from '../log/sessions.ts';
import { openSnapshots } from '../log/snapshots.ts';
import { packEvents } from './packed-events.ts';

/** The reads that find a session and open it. All of them go by key and in pages. */
export const openFirstReads = (db: DatabaseSync, blobs: Blobs) => {
  const sessions = openSessions(db);
  const events = openEventReader(db, sessions, blobs);
  const snapshots = openSnapshots(db, sessions, blobs);
  const records = openRecordRows(db);
  const operations = {
    head: (key: SessionKey) => {
      const head = sessions.head(key);
      return { value: head && withoutPlace(head) };
    },
    list: (workspace: WorkspaceId, query: ListQuery) => ({ value: sessions.list(workspace, query) }),
    turnStarts: (key: SessionKey, range: { readonly from: number; readonly limit: number }) => ({
      value: events.turnStarts(key, range),
    }),
    read: (key: SessionKey, range: ReadRange) => {
      const page = packEvents(events.read(key, range));
      return { value: page.events, transfer: [page.transfer] };
    },
    snapshot: (key: SessionKey, at: { readonly seq: number; readonly foldVersion: number }) => ({
      value: snapshots.newest(key, at),
    }),
    record: (workspace: WorkspaceId, kind: RecordKind, id: string) => ({ value: records.one(workspace, kind, id) }),
    records: (workspace: WorkspaceId, kind: RecordKind, query: RecordQuery) => ({
      value: records.list(workspace, kind, query),
    }),
  };
  return { sessions, operations };
};

export type FirstReads = ReturnType<typeof openFirstReads>['operations'];
