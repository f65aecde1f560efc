import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { moduleUrl, runScript } from '../../../test/support/cli/run-script.ts';
import { askPostgres } from '../../../test/support/postgres/ask-postgres.ts';
import { newPgClient } from '../../../test/support/postgres/pg-client.ts';
import { createDatabase, type TestDatabase } from '../../../test/support/postgres/postgres.ts';
import type { SessionCopy, SessionKey, Store } from '../../core/ports/store.ts';
import { copiesOf } from '../../testing/contract/bundles/session-copies.ts';
import { newKey, newWorkspace } from '../../testing/contract/contract-setup.ts';
import { rawText } from '../../testing/contract/log/new-events.ts';
import { expectSound, mustAppend, openSession, textOf } from '../../testing/contract/log/session-log.ts';
import { openPostgresStore } from './index.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await createDatabase();
});
afterAll(() => database.drop());

/** Locks the session's row in another transaction. Returns a function that ends that transaction. */
const holdSession = async ({ workspace, session }: SessionKey): Promise<() => Promise<void>> => {
  const client = newPgClient(database.adminUrl);
  await client.connect();
  const hold = 'select from perdure.sessions where workspace = $1 and id = $2 for update';
  await client.query('begin');
  await client.query(hold, [workspace, session]);
  return () => client.end();
};

/** Connections of stores that match the condition. */
const connectionsWhere = (condition: string) =>
  askPostgres(
    database.adminUrl,
    `select from pg_stat_activity
     where datname = current_database() and application_name = 'perdure' and ${condition}`,
  );

/** Runs the code in its own process, which has no cached head and therefore locks the head first. */
const runInProcess = (expression: string) => {
  const script = runScript(`
    import { openPostgresStore } from ${moduleUrl('src/stores/postgres/index.ts')};
    import { rawText } from ${moduleUrl('src/testing/contract/log/new-events.ts')};
    import { append } from ${moduleUrl('src/testing/contract/log/session-log.ts')};
    const store = await openPostgresStore(${JSON.stringify({ url: database.url, statementTimeoutMs: 60_000 })});
    const done = await (${expression}).then(({ outcome, head }) => outcome + ' ' + head?.seq, ({ code }) => code);
    console.log(done);
    await store.close();
  `);
  onTestFinished(() => script.kill());
  return script;
};

describe('a process frozen in the middle of an append', () => {
  test('[FAULT5, FAULT8, LOG1] a frozen process blocks other writers of the session only for seconds, and its append lands once when it resumes', async () => {
    const store = await openPostgresStore({ url: database.url });
    const key = newKey();
    await openSession(store, key);
    const release = await holdSession(key);
    const frozen = runInProcess(`append(store, ${JSON.stringify(key)}, [rawText('ours')])`);
    await expect.poll(() => connectionsWhere(`wait_event_type = 'Lock'`), { timeout: 15_000 }).toHaveLength(1);
    process.kill(frozen.pid, 'SIGSTOP');
    await release();
    await expect.poll(() => connectionsWhere(`state = 'idle in transaction'`)).toHaveLength(1);
    await mustAppend(store, key, [rawText('theirs')]);
    process.kill(frozen.pid, 'SIGCONT');
    expect(await frozen.line()).toBe('appended 3');
    expect((await expectSound(store, key)).slice(1).map(textOf)).toEqual(['theirs', 'ours']);
    await store.close();
  });
});

describe('slow imports', () => {
  /** Yields the copies one after another, with a wait before each. */
  async function* slowly(copies: readonly SessionCopy[], wait: () => Promise<unknown>) {
    for (const copy of copies) {
      await wait();
      yield copy;
    }
  }

  const copyOf = async (store: Store): Promise<readonly SessionCopy[]> => {
    const key = newKey();
    await openSession(store, key);
    return copiesOf(store, [key]);
  };

  test('[FAULT8] an import may wait for its source longer than the idle limit of a transaction', async () => {
    const store = await openPostgresStore({ url: database.url, statementTimeoutMs: 200 });
    const [copies, workspace] = [await copyOf(store), newWorkspace()];
    const wait = () => askPostgres(database.adminUrl, 'select pg_sleep(2)');
    const { sessions } = await store.importCopies(workspace, slowly(copies, wait));
    expect(sessions).toHaveLength(1);
    expect((await store.list(workspace, { limit: 2 })).sessions).toHaveLength(1);
    await store.close();
  });

  test('[FAULT5, FAULT8, LOG3] an import in a frozen process blocks the next one for a bounded time and leaves nothing behind', async () => {
    const store = await openPostgresStore({ url: database.url, statementTimeoutMs: 20_000 });
    const [copies, workspace] = [await copyOf(store), newWorkspace()];
    const frozen = runScript(`
      import { openPostgresStore } from ${moduleUrl('src/stores/postgres/index.ts')};
      const store = await openPostgresStore(${JSON.stringify({ url: database.url, statementTimeoutMs: 500 })});
      const copies = async function* () {
        console.log('begun');
        await new Promise((resolve) => process.stdin.once('data', resolve));
      };
      console.log(await store.importCopies('${workspace}', copies()).then(() => 'imported', ({ code }) => code));
      await store.close();
    `);
    onTestFinished(() => frozen.kill());
    expect(await frozen.line()).toBe('begun');
    process.kill(frozen.pid, 'SIGSTOP');
    expect(
      (
        await store.importCopies(
          workspace,
          slowly(copies, async () => undefined),
        )
      ).sessions,
    ).toHaveLength(1);
    process.kill(frozen.pid, 'SIGCONT');
    frozen.tell('go on');
    expect(await frozen.line()).toBe('STORE_UNAVAILABLE');
    expect((await store.list(workspace, { limit: 2 })).sessions).toHaveLength(1);
    await store.close();
  });
});
