import { DatabaseSync } from 'node:sqlite';
import { describe, expect, test } from 'vitest';
import { moduleUrl, runScript } from '../../../test/run-script.ts';
import { newSqliteFile, openSqlite } from '../../../test/sqlite-file.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { expectSound, openSession } from '../../testing/contract/session-log.ts';
import { applicationId, migrations } from './migrations.ts';

const withDatabase = <T>(file: string, work: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
};

const opener = (file: string, key: object): string => `
  import { openSqliteStore } from ${moduleUrl('src/stores/sqlite/index.ts')};
  import { openSession } from ${moduleUrl('src/testing/contract/session-log.ts')};
  process.stdin.once('data', async () => {
    const store = await openSqliteStore({ file: ${JSON.stringify(file)} });
    await openSession(store, ${JSON.stringify(key)});
    await store.close();
    process.exit(0);
  });
  console.log('ready');
`;

describe('migrations', () => {
  test('[ST1, ST4] processes that open a new file at once end with one schema, and all can write', async () => {
    const file = newSqliteFile();
    const keys = Array.from({ length: 5 }, () => newKey());
    const scripts = keys.map((key) => runScript(opener(file, key)));
    await Promise.all(scripts.map((script) => script.line()));
    for (const script of scripts) script.tell('go');
    expect(await Promise.all(scripts.map(({ ended }) => ended))).toEqual(scripts.map(() => ({ code: 0, said: '' })));
    withDatabase(file, (db) => {
      expect(db.prepare('SELECT * FROM meta').all()).toEqual([
        { schema: migrations.length, oldest_reader: migrations.at(-1)!.oldestReader },
      ]);
      expect(db.prepare('PRAGMA application_id').get()).toEqual({ application_id: applicationId });
    });
    const store = await openSqlite(file);
    for (const key of keys) await expectSound(store, key);
  });

  test('[ST1] opening again changes nothing', async () => {
    const file = newSqliteFile();
    await (await openSqlite(file)).close();
    const schemaOf = () => withDatabase(file, (db) => db.prepare('SELECT * FROM sqlite_schema').all());
    const before = schemaOf();
    await (await openSqlite(file)).close();
    expect(schemaOf()).toEqual(before);
  });

  test('[ST2] a database that needs a newer release is refused, and says which', async () => {
    const file = newSqliteFile();
    await (await openSqlite(file)).close();
    await expect(openSqlite(file, { release: '0.0.0' })).rejects.toMatchObject({
      code: 'STORE_NEWER',
      message: expect.stringContaining('upgrade perdure'),
      details: { needs: '0.0.1', release: '0.0.0' },
    });
    withDatabase(file, (db) => db.exec("UPDATE meta SET oldest_reader = '99.10.0'"));
    await expect(openSqlite(file)).rejects.toMatchObject({ code: 'STORE_NEWER', details: { needs: '99.10.0' } });
    const store = await openSqlite(file, { release: '99.10.0' });
    await openSession(store, newKey());
  });

  test('[ST2] a newer schema that still lets this release read it is used and left as it is', async () => {
    const file = newSqliteFile();
    await (await openSqlite(file)).close();
    withDatabase(file, (db) => db.exec('UPDATE meta SET schema = 1000'));
    const store = await openSqlite(file);
    await openSession(store, newKey());
    await store.close();
    withDatabase(file, (db) => expect(db.prepare('SELECT schema FROM meta').get()).toEqual({ schema: 1000 }));
  });
});
