import { expect, test } from 'vitest';
import { askPostgres } from '../../../test/support/postgres/ask-postgres.ts';
import { createDatabase } from '../../../test/support/postgres/postgres.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { message, noise, raw } from '../../testing/contract/log/new-events.ts';
import { expectSound, forkSession, mustAppend, openSession } from '../../testing/contract/log/session-log.ts';
import { openPostgresStore, refuseOldServers } from './index.ts';

const settings = {
  bytea_output: 'escape',
  extra_float_digits: '-15',
  default_transaction_isolation: 'serializable',
  standard_conforming_strings: 'off',
  search_path: '',
  DateStyle: 'German',
  IntervalStyle: 'sql_standard',
  TimeZone: 'Asia/Kathmandu',
  client_encoding: 'LATIN1',
};

test('[FAULT1] a transaction_timeout that is too short for any transaction is named in the error', async () => {
  const database = await createDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await (await openPostgresStore({ url: database.url })).close();
  await askPostgres(database.adminUrl, `alter database ${name} set transaction_timeout = '1ms'`);
  const opening = async () => {
    const store = await openPostgresStore({ url: database.url });
    const key = newKey();
    return openSession(store, key).finally(() => store.close());
  };
  await expect(opening()).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('transaction_timeout'),
  });
  await database.drop();
});

test('[ST22] a server before PostgreSQL 15 is rejected with its release and the one it needs', () => {
  expect(() => refuseOldServers(140_012, '14.12 (Debian)')).toThrow(
    'the server is PostgreSQL 14.12 (Debian), and perdure needs 15 or newer: upgrade the server',
  );
  expect(refuseOldServers(150_000, '15.0')).toBeUndefined();
});

test('[ST5] a database that is not in UTF-8 is rejected with advice', async () => {
  const database = await createDatabase(`encoding 'SQL_ASCII' locale 'C' template template0`);
  await expect(openPostgresStore({ url: database.url })).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/SQL_ASCII.*create database .* encoding 'UTF8'/),
  });
  expect(await askPostgres(database.adminUrl, `select from pg_namespace where nspname = 'perdure'`)).toEqual([]);
  await database.drop();
});

test('[LOG9, HASH2] settings of a database or a role do not change what is read or written', async () => {
  const database = await createDatabase();
  const key = newKey();
  const before = await openPostgresStore({ url: database.url });
  await openSession(before, key);
  await mustAppend(before, key, [message('☃', 'next'), raw(noise(20_000, 1)), raw(noise(300, 2))]);
  const sound = await expectSound(before, key);
  await before.close();
  const name = new URL(database.url).pathname.slice(1);
  for (const [setting, value] of Object.entries(settings)) {
    await askPostgres(database.adminUrl, `alter database ${name} set ${setting} = '${value}'`);
  }
  const store = await openPostgresStore({ url: database.url });
  expect(await expectSound(store, key)).toEqual(sound);
  const child = newKey(key.workspace);
  await forkSession(store, key, 3, child);
  await mustAppend(store, child, [message('ü', 'next')]);
  await expectSound(store, child);
  await store.close();
  await database.drop();
});
