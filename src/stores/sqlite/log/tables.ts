import type { DatabaseSync } from 'node:sqlite';
import { type Admission, openAdmission } from '../file/admission.ts';
import { type OpenedFiles, openedFiles } from '../file/opened-files.ts';
import { openWorkRows, type WorkRows } from '../queue/work-rows.ts';
import { type Blobs, openBlobs } from './blobs.ts';
import { type EventRows, openEventRows } from './event-rows.ts';
import { type Heads, openHeads } from './heads.ts';
import { type Keys, openKeys } from './keys.ts';
import { type LedgerRows, openLedgerRows } from './ledger-rows.ts';
import { openProjectionRows, type ProjectionRows } from './projection-rows.ts';
import { openRecordRows, type RecordRows } from './record-rows.ts';
import { openSessions, type Sessions } from './sessions.ts';
import { openSnapshots, type Snapshots } from './snapshots.ts';

/** The writer's tables, with statements prepared once for the life of the connection. */
export interface Tables {
  readonly sessions: Sessions;
  readonly heads: Heads;
  readonly events: EventRows;
  readonly keys: Keys;
  readonly blobs: Blobs;
  readonly projections: ProjectionRows;
  readonly ledger: LedgerRows;
  readonly snapshots: Snapshots;
  readonly work: WorkRows;
  readonly records: RecordRows;
  readonly files: OpenedFiles;
  readonly admission: Admission;
}

export const openTables = (db: DatabaseSync, file: string, release: string): Tables => {
  const sessions = openSessions(db);
  const blobs = openBlobs(db);
  return {
    sessions,
    heads: openHeads(db, sessions),
    events: openEventRows(db),
    keys: openKeys(db),
    blobs,
    projections: openProjectionRows(db),
    ledger: openLedgerRows(db),
    snapshots: openSnapshots(db, sessions, blobs),
    work: openWorkRows(db),
    records: openRecordRows(db),
    files: openedFiles(file),
    admission: openAdmission(db, file, release),
  };
};
