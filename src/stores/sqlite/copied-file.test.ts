import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../test/support/stores/sqlite-file.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { noise, raw } from '../../testing/contract/log/new-events.ts';
import { expectSound, mustAppend, openSession, readAll } from '../../testing/contract/log/session-log.ts';

test('[ST4] VACUUM INTO beside a writer yields a complete, independent store with all acknowledged events', async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  const appends = Array.from({ length: 400 }, (_, at) => mustAppend(store, key, [raw(noise(20_000, at))]));
  await appends[100];
  const acknowledged = (await store.head(key))!.seq;
  const db = new DatabaseSync(file);
  db.exec(`VACUUM INTO '${file}.copy'`);
  db.close();
  await Promise.all(appends);

  const copy = await openSqlite(`${file}.copy`);
  const events = await readAll(copy, key);
  expect(events.length).toBeGreaterThanOrEqual(acknowledged);
  expect(events).toEqual((await readAll(store, key)).slice(0, events.length));
  await expectSound(copy, key);
  expect(await mustAppend(copy, key, [raw(noise(100, 1))])).toMatchObject({ head: { seq: events.length + 1 } });
});
