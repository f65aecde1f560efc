import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { askPostgres } from '../../../test/support/postgres/ask-postgres.ts';
import { createDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts';
import { createOnlyDatabase, startPostgres } from '../../../test/support/postgres/start-postgres.ts';
import { copiesOf, sendCopies } from '../../testing/contract/bundles/session-copies.ts';
import { newKey, newWorkspace } from '../../testing/contract/contract-setup.ts';
import { idempotencyKey, rawText } from '../../testing/contract/log/new-events.ts';
import { mustAppend, openSession } from '../../testing/contract/log/session-log.ts';
import { openPostgresStore } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

const refuseUnsynced = `
  create function perdure.refuse_unsynced() returns trigger language plpgsql as $$
  begin
    if current_setting('synchronous_commit') <> 'on' then raise exception 'a commit that waits for no disk'; end if;
    return new;
  end $$;
  create trigger refuse_unsynced before insert or update on perdure.sessions
    for each row execute function perdure.refuse_unsynced();
`;

describe('durability', () => {
  test('[LOG8] every append waits for the disk, even where the database sets synchronous_commit to off', async () => {
    const name = new URL(database.url).pathname.slice(1);
    await askPostgres(database.adminUrl, `alter database ${name} set synchronous_commit = off`);
    const store = await openPostgresStore({ url: database.url });
    await askPostgres(database.adminUrl, refuseUnsynced);
    const key = newKey();
    await openSession(store, key);
    await mustAppend(store, key, [rawText('the head is known')]);
    await mustAppend(store, key, [rawText('with a key')], { key: idempotencyKey('a', 'b') });
    await Promise.all([1, 2, 3].map(() => mustAppend(store, key, [rawText('together')])));
    const other = await openPostgresStore({ url: database.url });
    await mustAppend(other, key, [rawText('the head is not known')]);
    await other.importCopies(newWorkspace(), sendCopies(await copiesOf(store, [key])));
    const unsynced = askPostgres(database.adminUrl, 'update perdure.sessions set at = at');
    await expect(unsynced).rejects.toThrow('a commit that waits for no disk');
    await store.close();
    await other.close();
  });

  test('[LOG8] opening fails on a server with fsync off', async () => {
    const server = await startPostgres();
    try {
      const url = await createOnlyDatabase(server);
      await askPostgres(server.adminUrl, 'alter system set fsync = off');
      await askPostgres(server.adminUrl, 'select pg_reload_conf()');
      await vi.waitFor(async () => expect(await askPostgres(url, 'show fsync')).toEqual([{ fsync: 'off' }]), 10_000);
      await expect(openPostgresStore({ url })).rejects.toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringContaining('set fsync = on'),
      });
    } finally {
      await server.close();
    }
  });
});
