import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { openSession } from '../../../testing/contract/log/session-log.ts';
import { openConnection } from './connection.ts';
import { applicationId, isBegun, migrate, migrations } from './migrations.ts';

const withDatabase = <T>(file: string, work: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
};

const noRows = (): void => undefined;

/** A connection that lets another process act before the nth prepared statement. */
const interrupted = (db: DatabaseSync, nth: number, interrupt: () => void): DatabaseSync => {
  let count = 0;
  const prepare = (sql: string) => {
    count += 1;
    if (count === nth) interrupt();
    return db.prepare(sql);
  };
  return new Proxy(db, {
    get: (target, name) => {
      if (name === 'prepare') return prepare;
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
};

describe('migrations', () => {
  test('[ST1] if two processes create the schema at the same time, it is created exactly once, however they interleave', () => {
    for (let nth = 1; nth <= 6; nth++) {
      const file = newSqliteFile();
      const [mine, theirs] = [1, 2].map(() => openConnection({ file, busyTimeoutMs: 1000 })) as [
        DatabaseSync,
        DatabaseSync,
      ];
      const meanwhile = interrupted(mine, nth, () => !mine.isTransaction && migrate(theirs, file, '0.1.0', noRows));
      expect([true, false]).toContain(isBegun(meanwhile, file));
      migrate(meanwhile, file, '0.1.0', noRows);
      expect(mine.prepare('SELECT * FROM meta').all()).toEqual([
        { schema: migrations.length, oldest_reader: migrations.at(-1)!.oldestReader },
      ]);
      expect(mine.prepare('PRAGMA application_id').get()).toEqual({ application_id: applicationId });
      theirs.close();
      mine.close();
    }
  });

  test("[ST2] an older release that waits for a newer release's migration is rejected when that migration has finished", async () => {
    const file = newSqliteFile();
    const newer = openConnection({ file, busyTimeoutMs: 1000 });
    newer.exec(`BEGIN IMMEDIATE; PRAGMA application_id = ${applicationId}`);
    newer.exec("CREATE TABLE meta AS SELECT 9 AS schema, '9.10.0' AS oldest_reader");
    const older = openSqlite(file, { release: '9.9.12' });
    older.catch(() => undefined);
    await openSqlite(newSqliteFile());
    newer.exec('COMMIT');
    newer.close();
    await expect(older).rejects.toMatchObject({ code: 'STORE_NEWER', details: { needs: '9.10.0' } });
  });

  test('[ST1] opening again changes nothing', async () => {
    const file = newSqliteFile();
    await (await openSqlite(file)).close();
    const schemaOf = () => withDatabase(file, (db) => db.prepare('SELECT * FROM sqlite_schema').all());
    const before = schemaOf();
    await (await openSqlite(file)).close();
    expect(schemaOf()).toEqual(before);
  });

  test('[ST2] a database that needs a newer release is rejected, and the error names that release', async () => {
    const file = newSqliteFile();
    await (await openSqlite(file)).close();
    await expect(openSqlite(file, { release: '0.0.0' })).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringContaining('upgrade perdure'),
      details: { needs: '0.1.0', release: '0.0.0' },
    });
    withDatabase(file, (db) => db.exec("UPDATE meta SET oldest_reader = '99.10.0'"));
    await expect(openSqlite(file)).rejects.toMatchObject({ code: 'STORE_NEWER', details: { needs: '99.10.0' } });
    const store = await openSqlite(file, { release: '99.10.0' });
    await openSession(store, newKey());
  });

  test('[ST2] a newer schema that still allows this release is used and left unchanged', async () => {
    const file = newSqliteFile();
    await (await openSqlite(file)).close();
    withDatabase(file, (db) => db.exec('UPDATE meta SET schema = 1000'));
    const store = await openSqlite(file);
    await openSession(store, newKey());
    await store.close();
    withDatabase(file, (db) => expect(db.prepare('SELECT schema FROM meta').get()).toEqual({ schema: 1000 }));
  });
});
