import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { askPostgres } from '../../../test/support/postgres/ask-postgres.ts';
import { createDatabase } from '../../../test/support/postgres/postgres.ts';
import { createOnlyDatabase, startPostgres } from '../../../test/support/postgres/start-postgres.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { rawText } from '../../testing/contract/log/new-events.ts';
import { append, expectSound, mustAppend, openSession, textOf } from '../../testing/contract/log/session-log.ts';
import { openPostgresStore } from './index.ts';

const readOnlyError = {
  code: 'STORE_UNAVAILABLE',
  message: expect.stringMatching(
    /accepts no writes.*: connect to the primary, or .* default_transaction_read_only = off/,
  ),
};

test('[FAULT1] a server in recovery serves reads and rejects writes with advice, and a waiting append lands after promotion', async () => {
  const server = await startPostgres();
  onTestFinished(async () => {
    await askPostgres(server.adminUrl, 'select pg_promote()').catch(() => undefined); // `server.start` waits for the promotion
    await server.close();
  });
  const url = await createOnlyDatabase(server);
  const store = await openPostgresStore({ url });
  const [key, unknown] = [newKey(), newKey()];
  for (const each of [key, unknown]) await openSession(store, each);
  const [setting] = await askPostgres<{ folder: string }>(
    server.adminUrl,
    `select current_setting('data_directory') as folder`,
  );
  await server.stop();
  writeFileSync(join(setting!.folder, 'standby.signal'), '');
  const promoted = server.start(); // resolves when the server accepts writes
  await expect.poll(() => store.head(key).catch(() => undefined), { timeout: 15_000 }).toMatchObject({ seq: 1 });

  const other = await openPostgresStore({ url });
  for (const [each, session] of [
    [store, key],
    [other, unknown],
  ] as const) {
    const failed = await append(each, session, [rawText('refused')]).catch((error: unknown) => error);
    expect(failed).toMatchObject(readOnlyError);
    expect(failed).not.toMatchObject({ details: { outcome: 'unknown' } });
  }
  const write = { kind: 'member', id: 'a', onVersion: 0, body: {} } as const;
  await expect(store.writeRecords(key.workspace, [write])).rejects.toMatchObject(readOnlyError);

  const waiting = mustAppend(store, key, [rawText('landed')]);
  await askPostgres(server.adminUrl, 'select pg_promote()');
  await waiting;
  await promoted;
  expect((await expectSound(store, key)).slice(1).map(textOf)).toEqual(['landed']);
  await Promise.all([store.close(), other.close()]);
});

test('[FAULT1] opening a database that is read-only by default fails with advice', async () => {
  const database = await createDatabase();
  const name = new URL(database.url).pathname.slice(1);
  await askPostgres(database.adminUrl, `alter database ${name} set default_transaction_read_only = on`);
  await expect(openPostgresStore({ url: database.url })).rejects.toMatchObject(readOnlyError);
  await database.drop();
});
