import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { moduleUrl, runScript } from '../../../../test/support/cli/run-script.ts';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { noise, raw } from '../../../testing/contract/log/new-events.ts';
import { expectSound, mustAppend, openSession } from '../../../testing/contract/log/session-log.ts';
import { applicationId, migrations } from '../file/migrations.ts';
import { backUpSqlite } from './back-up.ts';

const beside = (file: string, name: string): string => join(dirname(file), name);

test('[ST9, ST10] a backup beside a writer is consistent, contains all acknowledged events, and is readable only by its user', async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  for (let seq = 2; seq <= 20; seq++) await mustAppend(store, key, [raw(noise(50_000, seq))]);
  const target = beside(file, 'copy.db');
  let isOver = false;
  const writing = (async () => {
    for (let seq = 21; !isOver; seq++) await mustAppend(store, key, [raw(noise(1000, seq))]);
  })();
  const bytes = await backUpSqlite(file, target).finally(() => {
    isOver = true;
  });
  await writing;
  expect(statSync(target)).toMatchObject({ size: bytes, mode: 0o100600 });
  expect(readdirSync(dirname(file)).filter((name) => name.startsWith('copy'))).toEqual(['copy.db']);
  const copied = await expectSound(await openSqlite(target), key);
  expect(copied.length).toBeGreaterThanOrEqual(20);
  expect(copied).toEqual((await expectSound(store, key)).slice(0, copied.length));
});

test('[ST10, ST19] a store of an older release is copied unchanged, so that it can be kept before an upgrade', async () => {
  const file = newSqliteFile();
  const old = new DatabaseSync(file);
  old.exec(migrations[0]!.sql);
  old.exec(`UPDATE meta SET schema = 1; PRAGMA application_id = ${applicationId}`);
  old.close();
  const target = beside(file, 'copy.db');
  await backUpSqlite(file, target);
  for (const path of [file, target]) {
    const db = new DatabaseSync(path);
    expect({ ...db.prepare('SELECT schema FROM meta').get() }).toEqual({ schema: 1 });
    db.close();
  }
});

test('[ST10, ST19] a backup overwrites nothing, even if two run at the same time', async () => {
  const file = newSqliteFile();
  await openSqlite(file);
  const [kept, folder, link, both] = ['kept', 'folder', 'link', 'both'].map((name) => beside(file, name)) as [
    string,
    string,
    string,
    string,
  ];
  writeFileSync(kept, 'kept');
  mkdirSync(folder);
  symlinkSync('nowhere', link);
  for (const there of [kept, folder, link, file]) {
    await expect(backUpSqlite(file, there)).rejects.toMatchObject({
      code: 'FILE_UNAVAILABLE',
      message: `${there} already exists: name a new file`,
    });
  }
  expect(readFileSync(kept, 'utf8')).toBe('kept');
  const outcomes = await Promise.allSettled([backUpSqlite(file, both), backUpSqlite(file, both)]);
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  expect(readdirSync(dirname(file)).filter((name) => !name.startsWith('perdure.db'))).toEqual([
    'both',
    'folder',
    'kept',
    'link',
  ]);
});

test('[ST10, FAULT1] a backup that cannot be written reports the target and leaves nothing behind', async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  for (let seq = 2; seq <= 40; seq++) await mustAppend(store, key, [raw(noise(100_000, seq))]);
  await store.close();
  const target = beside(file, 'copy.db');
  const script = runScript(
    `
    import { backUpSqlite } from ${moduleUrl('src/stores/sqlite/thread/back-up.ts')};
    const { code, message } = await backUpSqlite(${JSON.stringify(file)}, ${JSON.stringify(target)}).catch((error) => error);
    console.log(JSON.stringify({ code, message }));
    process.exit(0);
  `,
    ['bash', '-c', 'ulimit -S -f 1000; exec "$0" "$@"'],
  );
  expect(JSON.parse((await script.line()) ?? '{}')).toEqual({
    code: 'FILE_UNAVAILABLE',
    message: `cannot write ${target}: its disk is full or fails`,
  });
  await script.ended;
  await expect(backUpSqlite(file, beside(file, 'no/copy.db'))).rejects.toMatchObject({
    message: `cannot write ${beside(file, 'no/copy.db')}: there is no such file or folder`,
  });
  expect(readdirSync(dirname(file))).toEqual(['perdure.db']);
});
