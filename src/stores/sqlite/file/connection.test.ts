import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { openSession } from '../../../testing/contract/log/session-log.ts';
import { maxLogBytes } from '../thread/early-reads.ts';
import { checkpointPages, openConnection } from './connection.ts';

const pragma = (db: DatabaseSync, name: string): unknown => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];

test('[LOG8] every connection uses WAL and syncs at each commit, on macOS with fullfsync', () => {
  const db = openConnection({ file: newSqliteFile(), busyTimeoutMs: 1000 });
  const full = 2;
  expect(pragma(db, 'journal_mode')).toBe('wal');
  expect(pragma(db, 'synchronous')).toBe(full);
  expect(pragma(db, 'fullfsync')).toBe(1);
  expect(pragma(db, 'checkpoint_fullfsync')).toBe(1);
  expect(pragma(db, 'busy_timeout')).toBe(1000);
  db.close();
});

test('[ST8] the checkpoint threshold keeps the write-ahead log within the limit for reading it on the event loop', () => {
  const db = openConnection({ file: newSqliteFile(), busyTimeoutMs: 1000 });
  expect(pragma(db, 'wal_autocheckpoint')).toBe(checkpointPages);
  const frameBytes = Number(pragma(db, 'page_size')) + 24;
  expect(checkpointPages * frameBytes).toBeLessThan(maxLogBytes);
  db.close();
});

test('closing a store returns free pages to the file system and leaves the file intact', async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  const other = new DatabaseSync(file);
  other.exec('CREATE TABLE ballast AS SELECT randomblob(1000000) AS bytes; DROP TABLE ballast');
  expect(pragma(other, 'freelist_count')).toBeGreaterThan(200);
  other.close();
  await openSession(store, newKey());
  await store.close();
  const db = new DatabaseSync(file, { readOnly: true });
  expect(pragma(db, 'freelist_count')).toBe(0);
  expect(pragma(db, 'integrity_check')).toBe('ok');
  expect(db.prepare('SELECT count(*) AS n FROM events').get()).toEqual({ n: 2 });
  db.close();
});

test('[FAULT1] opening a file writes nothing to it, and reads work while another process writes', async () => {
  const file = newSqliteFile();
  const key = newKey();
  const first = await openSqlite(file);
  await openSession(first, key);
  await first.close();
  const other = new DatabaseSync(file);
  const before = pragma(other, 'data_version');
  other.exec('BEGIN IMMEDIATE');
  const second = await openSqlite(file, { busyTimeoutMs: 100 });
  expect((await second.head(key))?.seq).toBe(1);
  other.exec('COMMIT');
  expect(pragma(other, 'data_version')).toBe(before);
  other.close();
});
