import { readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../test/sqlite-file.ts';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { openSession, readAll } from '../../testing/contract/session-log.ts';
import { currentRelease } from '../release.ts';
import { newFileMark } from './opened-files.ts';
import { openEarlyReads, Reader } from './reader.ts';
import type { ReaderOperations } from './serve-reads.ts';
import type { ThreadClient } from './thread-client.ts';

/** Says what it is asked, and answers in another turn of the event loop. */
const newThread = () => {
  const asked: string[] = [];
  const call = async (op: string) => {
    asked.push(op);
    await nextTurn();
    return 'of the thread';
  };
  const thread = { call, close: async () => undefined, stop: async () => undefined };
  return { asked, thread: thread as unknown as ThreadClient<ReaderOperations> };
};

const openReader = async (file: string) => {
  const { asked, thread } = newThread();
  const early = openEarlyReads({ file, busyTimeoutMs: 10_000, mark: newFileMark(), release: currentRelease() });
  const reader = new Reader(thread, early);
  await reader.open();
  onTestFinished(() => reader.close());
  return { asked, reader };
};

const newSession = async (file: string) => {
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  const events = await readAll(store, key);
  await store.close();
  return { key, events };
};

const change = (file: string, sql: string): void => {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
};

describe('before the thread has begun', () => {
  test('[ST8] a session is found and read here, and so it is told that there is none', async () => {
    const file = newSqliteFile();
    const { key, events } = await newSession(file);
    const { asked, reader } = await openReader(file);
    expect(await reader.call('head', [key])).toMatchObject({ ...key, seq: 1 });
    expect(await reader.call('read', [key, { after: 0, upTo: 1, limit: 10 }])).toEqual(events);
    expect(await reader.call('head', [newKey()])).toBeUndefined();
    expect(asked).toEqual([]);
  });

  test('[ST8] all else is asked of the thread', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { asked, reader } = await openReader(file);
    expect(await reader.call('readBlob', [key.workspace, 'ab' as never])).toBe('of the thread');
    expect(asked).toEqual(['readBlob']);
  });

  test('[ST8] the thread takes over by itself, and is asked from then on', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { asked, reader } = await openReader(file);
    await expect.poll(() => asked).toEqual(['open']);
    await expect.poll(() => reader.call('head', [key])).toBe('of the thread');
  });

  test('[ST8] who reads on and on is asked of the thread after a while, and holds up nobody', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { asked, reader } = await openReader(file);
    let others = 0;
    setImmediate(() => (others += 1));
    const began = performance.now();
    while (others === 0) await reader.call('head', [key]);
    expect(asked).toEqual(['head']);
    expect(performance.now() - began).toBeLessThan(1000);
  });

  test('[ST8, FAULT1] what cannot be read here is asked of the thread, and so is all that comes later', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { asked, reader } = await openReader(file);
    change(file, 'ALTER TABLE events RENAME TO gone');
    expect(await reader.call('read', [key, { after: 0, upTo: 1, limit: 10 }])).toBe('of the thread');
    expect(await reader.call('head', [key])).toBe('of the thread');
    expect(asked).toEqual(['read', 'head']);
  });
});

describe('left to the thread from the beginning', () => {
  test('[ST8] a file that is to be made', async () => {
    expect((await openReader(newSqliteFile())).asked).toEqual(['open']);
  });

  test('[ST8, ST1] one whose schema is older', async () => {
    const file = newSqliteFile();
    await newSession(file);
    change(file, 'UPDATE meta SET schema = schema - 1');
    expect((await openReader(file)).asked).toEqual(['open']);
  });

  test('[ST8, ST2] one that needs a newer release', async () => {
    const file = newSqliteFile();
    await newSession(file);
    change(file, "UPDATE meta SET oldest_reader = '9.0.0'");
    expect((await openReader(file)).asked).toEqual(['open']);
  });

  test('[ST8, FAULT1] one that another keeps for itself, without waiting for it', async () => {
    const file = newSqliteFile();
    await newSession(file);
    const other = new DatabaseSync(file);
    onTestFinished(() => other.close());
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT');
    const began = performance.now();
    expect((await openReader(file)).asked).toEqual(['open']);
    expect(performance.now() - began).toBeLessThan(1000);
  });

  test('[ST8] one without a write-ahead log, which stays as it is', async () => {
    const file = newSqliteFile();
    await newSession(file);
    change(file, 'PRAGMA journal_mode = DELETE');
    const before = readFileSync(file);
    expect((await openReader(file)).asked).toEqual(['open']);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('[ST8] one with a long log to be read through', async () => {
    const file = newSqliteFile();
    await newSession(file);
    writeFileSync(`${file}-wal`, Buffer.alloc(5 * 1024 * 1024));
    expect((await openReader(file)).asked).toEqual(['open']);
  });

  test('[ST8, FAULT1] one that is no database', async () => {
    const file = newSqliteFile();
    writeFileSync(file, 'no database at all, but a text of some length'.repeat(100));
    expect((await openReader(file)).asked).toEqual(['open']);
  });
});
