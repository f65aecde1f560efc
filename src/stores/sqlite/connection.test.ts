import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../test/sqlite-file.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { openSession } from '../../testing/contract/session-log.ts';
import { openConnection } from './connection.ts';

const pragma = (db: DatabaseSync, name: string): unknown => Object.values(db.prepare(`PRAGMA ${name}`).get() ?? {})[0];

test('[LOG8] every connection writes ahead and syncs at each commit, on macOS down to the platter', () => {
  const db = openConnection({ file: newSqliteFile(), busyTimeoutMs: 1000 });
  const full = 2;
  expect(pragma(db, 'journal_mode')).toBe('wal');
  expect(pragma(db, 'synchronous')).toBe(full);
  expect(pragma(db, 'fullfsync')).toBe(1);
  expect(pragma(db, 'checkpoint_fullfsync')).toBe(1);
  expect(pragma(db, 'busy_timeout')).toBe(1000);
  db.close();
});

test('a file that the store made gives pages back little by little, and is whole after close', async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file);
  await openSession(store, newKey());
  await store.close();
  const db = new DatabaseSync(file, { readOnly: true });
  const incremental = 2;
  expect(pragma(db, 'auto_vacuum')).toBe(incremental);
  expect(pragma(db, 'integrity_check')).toBe('ok');
  expect(db.prepare('SELECT count(*) AS n FROM events').get()).toEqual({ n: 1 });
  db.close();
});
