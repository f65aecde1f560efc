import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { open, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, onTestFinished, test } from 'vitest';
import { moduleUrl, runScript } from '../../../test/support/cli/run-script.ts';
import { newSqliteFile, openSqlite } from '../../../test/support/stores/sqlite-file.ts';
import type { SessionKey, Store } from '../../core/ports/store.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { noise, opened, raw, rawText } from '../../testing/contract/log/new-events.ts';
import {
  append,
  expectSound,
  mustAppend,
  openSession,
  outside,
  readAll,
} from '../../testing/contract/log/session-log.ts';
import { openConnection } from './file/connection.ts';
import { migrate } from './file/migrations.ts';
import { appendBatch } from './log/append-batch.ts';
import { openTables } from './log/tables.ts';

const withDatabase = <T>(file: string, work: (db: DatabaseSync) => T): T => {
  const db = new DatabaseSync(file);
  try {
    return work(db);
  } finally {
    db.close();
  }
};

describe('a locked file', () => {
  test('[FAULT1, FAULT9] while another process holds the lock, an append fails with STORE_BUSY and reads work', async () => {
    const file = newSqliteFile();
    const store = await openSqlite(file, { busyTimeoutMs: 50 });
    const [key, second] = [newKey(), newKey()];
    await openSession(store, key);
    await openSession(store, second);
    const other = new DatabaseSync(file);
    onTestFinished(() => other.close());
    other.exec('BEGIN IMMEDIATE');
    const refused = await Promise.allSettled([
      append(store, key, [rawText('a')]),
      append(store, second, [rawText('b')]),
      store.putSnapshot(key, { seq: 1, foldVersion: 1, parts: {} }),
    ]);
    for (const each of refused) {
      expect(each).toMatchObject({
        status: 'rejected',
        reason: { code: 'STORE_BUSY', message: expect.stringContaining('try again'), details: { file } },
      });
    }
    expect(await readAll(store, key)).toHaveLength(1);
    other.exec('ROLLBACK');
    await mustAppend(store, key, [rawText('c')]);
    expect(await expectSound(store, key)).toHaveLength(2);
    expect(await expectSound(store, second)).toHaveLength(1);
  });

  test('[FAULT1, FAULT9] opening fails with STORE_BUSY while others lock the file, and works when they are gone', async () => {
    const file = newSqliteFile();
    const other = new DatabaseSync(file);
    other.exec('BEGIN EXCLUSIVE');
    await expect(openSqlite(file, { busyTimeoutMs: 50 })).rejects.toMatchObject({ code: 'STORE_BUSY' });
    other.close();
    await openSession(await openSqlite(file), newKey());
  });
});

describe('a full disk', () => {
  test('[FAULT1, FAULT9, LOG3] at the page limit, only the append that does not fit fails, leaves nothing behind, and succeeds when there is room', () => {
    const file = newSqliteFile();
    const db = openConnection({ file, busyTimeoutMs: 1000 });
    onTestFinished(() => db.close());
    migrate(db, file, '1.0.0', () => undefined);
    const tables = openTables(db, file, '1.0.0');
    const request = (key: SessionKey, size: number) =>
      ({ ...key, writer: outside, at: 1, events: [opened(), raw(noise(size, size))], creates: {} }) as const;
    const pages = Number(db.prepare('PRAGMA page_count').get()?.page_count);
    db.exec(`PRAGMA max_page_count = ${pages + 4}`);
    const [big, small, later] = [newKey(), newKey(), newKey()];
    const results = appendBatch(db, file, tables, [request(big, 100_000), request(small, 100)]);
    expect(results).toMatchObject([{ outcome: 'failed', error: { code: 'STORE_FULL' } }, { outcome: 'appended' }]);
    expect(tables.sessions.head(big)).toBeUndefined();
    expect(db.prepare('SELECT count(*) AS n FROM blobs').get()).toEqual({ n: 0 });
    db.exec(`PRAGMA max_page_count = 1000000`);
    expect(appendBatch(db, file, tables, [request(later, 100_000), request(big, 100_000)])).toMatchObject([
      { outcome: 'appended' },
      { outcome: 'appended' },
    ]);
  });

  test('[FAULT1, FAULT9, LOG2] a process at its file size limit gets STORE_FULL, loses nothing, and continues when the limit is raised', async () => {
    const file = newSqliteFile();
    const key = newKey();
    const script = runScript(
      `
      import { once } from 'node:events';
      import { openSqliteStore } from ${moduleUrl('src/stores/sqlite/index.ts')};
      import { noise, raw } from ${moduleUrl('src/testing/contract/log/new-events.ts')};
      import { mustAppend, openSession } from ${moduleUrl('src/testing/contract/log/session-log.ts')};
      const store = await openSqliteStore({ file: ${JSON.stringify(file)} });
      const key = ${JSON.stringify(key)};
      await openSession(store, key);
      let landed = 1;
      const fill = async (upTo) => {
        for (; landed < upTo; landed++) await mustAppend(store, key, [raw(noise(10_000, landed))]);
      };
      const full = await fill(10_000).catch((error) => error);
      console.log(JSON.stringify({ code: full.code, landed, head: (await store.head(key)).seq }));
      await once(process.stdin, 'data');
      await fill(landed + 5);
      console.log(JSON.stringify({ landed }));
      process.exit(0);
    `,
      ['bash', '-c', 'ulimit -S -f 2000; exec "$0" "$@"'],
    );
    const full = JSON.parse((await script.line()) ?? '{}');
    expect(full).toEqual({ code: 'STORE_FULL', landed: full.head, head: expect.any(Number) });
    expect(full.head).toBeGreaterThan(50);
    execFileSync('prlimit', ['--pid', `${script.pid}`, '--fsize=unlimited:unlimited']);
    script.tell('there is room now');
    const { landed } = JSON.parse((await script.line()) ?? '{}');
    expect(await script.ended).toEqual({ code: 0, said: '' });
    expect(await expectSound(await openSqlite(file), key)).toHaveLength(landed);
    expect(landed).toBe(full.head + 5);
  });
});

describe('a foreign file', () => {
  test('[FAULT1, FAULT9] opening a text file fails with STORE_CORRUPT, names it, and leaves it unchanged', async () => {
    const file = newSqliteFile();
    const text = 'dear diary, '.repeat(1000);
    writeFileSync(file, text);
    await expect(openSqlite(file)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringContaining(file),
    });
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  test("[FAULT1] opening another application's database fails with STORE_CORRUPT and leaves it unchanged", async () => {
    const file = newSqliteFile();
    withDatabase(file, (db) => db.exec('CREATE TABLE recipes (name TEXT)'));
    const before = readFileSync(file);
    await expect(openSqlite(file)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringContaining('another application'),
    });
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('[FAULT1, FAULT9] opening an impossible path fails with STORE_UNAVAILABLE', async () => {
    const file = newSqliteFile();
    writeFileSync(file, '');
    await expect(openSqlite(join(file, 'perdure.db'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await expect(openSqlite(join(file, '..'))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

/** Two sessions written one after the other, so that pages in the middle belong to only one of them. */
const twoSessions = async (file: string): Promise<[SessionKey, SessionKey]> => {
  const store = await openSqlite(file);
  const keys: [SessionKey, SessionKey] = [newKey(), newKey()];
  for (const key of keys) {
    await openSession(store, key);
    for (let i = 0; i < 20; i++) {
      await mustAppend(store, key, [raw(noise(1500, i)), raw(noise(1500, i + 100))]);
    }
  }
  await store.close();
  return keys;
};

const expectUsable = async (store: Store, key: SessionKey): Promise<void> => {
  await expectSound(store, key);
  await mustAppend(store, key, [rawText('still here')]);
  await expectSound(store, key);
};

describe('a damaged file', () => {
  test('[FAULT2] an overwritten page makes only its own session fail with STORE_CORRUPT, and the others work', async () => {
    const file = newSqliteFile();
    const [damaged, sound] = await twoSessions(file);
    const { pageno, size } = withDatabase(file, (db) =>
      db
        .prepare(`SELECT pageno, pgsize AS size FROM dbstat WHERE name = 'events' AND pagetype = 'leaf'
        ORDER BY path LIMIT 1 OFFSET 4`)
        .get(),
    ) as { pageno: number; size: number };
    const handle = await open(file, 'r+');
    await handle.write(new Uint8Array(size).fill(0xff), 0, size, (pageno - 1) * size);
    await handle.close();

    const store = await openSqlite(file);
    await expect(readAll(store, damaged)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringContaining('backup'),
    });
    expect((await store.list(damaged.workspace, { limit: 10 })).sessions).toHaveLength(1);
    await expectUsable(store, sound);
  });

  test('[FAULT2] if the row and the events of a session disagree, only that session fails, even within a batch', async () => {
    const file = newSqliteFile();
    const store = await openSqlite(file);
    const keys = [newKey(), newKey(), newKey()] as const;
    for (const key of keys) await openSession(store, key);
    withDatabase(file, (db) => db.prepare('UPDATE events SET seq = 2 WHERE session = ?').run(keys[1].session));
    const results = await Promise.allSettled(keys.map((key) => mustAppend(store, key, [rawText('a')])));
    expect(results).toMatchObject([
      { status: 'fulfilled' },
      { status: 'rejected', reason: { code: 'STORE_CORRUPT' } },
      { status: 'fulfilled' },
    ]);
    for (const key of [keys[0], keys[2]]) await expectUsable(store, key);
  });

  test('[FAULT2] if the summary of a session is unreadable, only that session fails, and it stays in the list', async () => {
    const file = newSqliteFile();
    const store = await openSqlite(file);
    const damaged = newKey();
    const sound = newKey(damaged.workspace);
    for (const key of [damaged, sound]) await openSession(store, key);
    withDatabase(file, (db) => db.prepare("UPDATE sessions SET summary = '{' WHERE id = ?").run(damaged.session));
    await expect(store.head(damaged)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await expect(mustAppend(store, damaged, [rawText('a')])).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    const listed = (await store.list(sound.workspace, { limit: 10 })).sessions.map(({ id }) => id);
    expect(new Set(listed)).toEqual(new Set([damaged.session, sound.session]));
    await expectUsable(store, sound);
  });

  test('[FAULT1, FAULT9] opening a truncated file fails with STORE_CORRUPT, and the process can open another', async () => {
    const file = newSqliteFile();
    await twoSessions(file);
    await truncate(file, 50_000);
    await expect(openSqlite(file)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    await openSession(await openSqlite(newSqliteFile()), newKey());
  });
});
