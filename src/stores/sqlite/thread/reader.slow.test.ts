import { copyFileSync, readdirSync, readFileSync, readlinkSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { moduleUrl, runScript } from '../../../../test/support/cli/run-script.ts';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { noise, raw, rawText } from '../../../testing/contract/log/new-events.ts';
import { expectSound, mustAppend, openSession, readAll } from '../../../testing/contract/log/session-log.ts';
import { currentRelease } from '../../release.ts';
import { newFileMark } from '../file/opened-files.ts';
import { openEarlyReads } from './early-reads.ts';
import { Reader } from './reader.ts';
import type { ReaderOperations } from './serve-reads.ts';
import { ThreadClient } from './thread-client.ts';

/** A thread that records the calls, and answers in another turn of the event loop. */
const newThread = () => {
  const called: string[] = [];
  const call = async (op: string) => {
    called.push(op);
    await nextTurn();
    return 'of the thread';
  };
  const thread = { call, close: async () => undefined, stop: async () => undefined };
  return { called, thread: thread as unknown as ThreadClient<ReaderOperations> };
};

/** Stops the clock of the reader, because on a busy machine its 50 ms may pass at any moment. */
const stopTime = (): void => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  onTestFinished(() => void vi.useRealTimers());
};

const openReader = async (file: string, { timePasses = false } = {}) => {
  if (!timePasses) stopTime();
  const { called, thread } = newThread();
  const early = openEarlyReads({ file, busyTimeoutMs: 10_000, mark: newFileMark(), release: currentRelease() });
  const reader = new Reader(thread, early);
  await reader.open();
  onTestFinished(() => reader.close());
  return { called, reader };
};

/** The calls to the thread before anything else can happen. */
const firstCalls = async (file: string) => [...(await openReader(file)).called];

const newSession = async (file: string, payload = rawText('x')) => {
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  await mustAppend(store, key, [payload]);
  const events = await readAll(store, key);
  await store.close();
  return { key, events };
};

const change = (file: string, sql: string): void => {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
};

const all = { after: 0, upTo: 2, limit: 10 };

/** Descriptors of this process for the file and the files beside it. */
const descriptorsOf = (file: string): readonly string[] =>
  readdirSync('/proc/self/fd').flatMap((name) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${name}`);
      return path.startsWith(file) ? [path] : [];
    } catch {
      return []; // the descriptor of this listing itself
    }
  });

describe('early reads on the event loop', () => {
  test('[ST8] a session is found and read on the event loop, and a missing one is reported', async () => {
    const file = newSqliteFile();
    const { key, events } = await newSession(file);
    const { called, reader } = await openReader(file);
    expect(await reader.call('head', [key])).toMatchObject({ ...key, seq: 2 });
    expect(await reader.call('read', [key, all])).toEqual(events);
    expect(await reader.call('head', [newKey()])).toBeUndefined();
    expect(called).toEqual([]);
  });

  test('[ST8] a store reads a session on the event loop before its threads start', async () => {
    const file = newSqliteFile();
    const { key, events } = await newSession(file);
    const call = vi.spyOn(ThreadClient.prototype, 'call');
    stopTime();
    const store = await openSqlite(file);
    expect(await readAll(store, key)).toEqual(events);
    expect(call).not.toHaveBeenCalled();
    vi.useRealTimers();
    await mustAppend(store, key, [rawText('y')]);
    expect((await readAll(store, key)).length).toBe(3);
  });

  test('[ST8, LOG2] events that a killed process acknowledged are read from its write-ahead log on the event loop', async () => {
    const [file, left] = [newSqliteFile(), newSqliteFile()];
    const store = await openSqlite(file);
    const key = newKey();
    await openSession(store, key);
    for (const part of ['', '-wal']) copyFileSync(`${file}${part}`, `${left}${part}`);
    const { called, reader } = await openReader(left);
    expect(await reader.call('head', [key])).toMatchObject({ seq: 1 });
    expect(called).toEqual([]);
    await reader.close();
    await expectSound(await openSqlite(left), key);
  });

  test('[ST8] early reads leave no files behind', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { reader } = await openReader(file);
    await reader.call('head', [key]);
    expect(descriptorsOf(file)).toContain(file);
    await reader.close();
    expect(readdirSync(dirname(file))).toEqual([basename(file)]);
    expect(descriptorsOf(file)).toEqual([]);
  });

  test('[ST8] operations without an early read go to the thread', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { called, reader } = await openReader(file);
    expect(await reader.call('family', [key])).toBe('of the thread');
    expect(called).toEqual(['family']);
  });

  test('[ST8] the thread takes over from early reads without a further call', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { called, reader } = await openReader(file, { timePasses: true });
    await expect.poll(() => called).toEqual(['open']);
    await expect.poll(() => descriptorsOf(file)).toEqual([]);
    expect(await reader.call('head', [key])).toBe('of the thread');
  });

  test('[ST8] a busy loop of early reads blocks the event loop only for a bounded time', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { reader } = await openReader(file, { timePasses: true });
    let isOver = false;
    setImmediate(() => {
      isOver = true;
    });
    const began = performance.now();
    while (!isOver && performance.now() - began < 5000) {
      await reader.call('head', [key]);
      const workedUntil = performance.now() + 5;
      while (performance.now() < workedUntil);
    }
    expect(performance.now() - began).toBeLessThan(500);
  });

  test('[ST8] more than a megabyte of blobs is read by the thread', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file, raw(noise(800_000, 1)));
    const { called, reader } = await openReader(file);
    expect(await reader.call('read', [key, all])).toHaveLength(2);
    expect(await reader.call('read', [key, all])).toBe('of the thread');
    expect(called).toEqual(['read']);
  });

  test('[ST8, FAULT1] after an early read fails, it and all later reads go to the thread', async () => {
    const file = newSqliteFile();
    const { key } = await newSession(file);
    const { called, reader } = await openReader(file);
    change(file, 'ALTER TABLE events RENAME TO gone');
    expect(await reader.call('read', [key, all])).toBe('of the thread');
    expect(await reader.call('head', [key])).toBe('of the thread');
    expect(called).toEqual(['read', 'head']);
  });

  test('[ST8, FAULT4] if the file is replaced before the threads start, appends fail', async () => {
    const [file, other] = [newSqliteFile(), newSqliteFile()];
    const { key } = await newSession(file);
    await newSession(other);
    const store = await openSqlite(file);
    renameSync(other, file);
    await expect(mustAppend(store, key, [rawText('y')])).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  test('[ST8] an open but unused store does not keep its process alive', async () => {
    const file = newSqliteFile();
    await newSession(file);
    const script = runScript(`
      import { openSqliteStore } from ${moduleUrl('src/stores/sqlite/index.ts')};
      await openSqliteStore({ file: ${JSON.stringify(file)} });
      console.log(process.getActiveResourcesInfo().filter((each) => each === 'Timeout').length);
    `);
    expect(await script.line()).toBe('0');
    expect(await script.ended).toMatchObject({ code: 0 });
  });
});

describe('files left to the thread from the beginning', () => {
  test('[ST8] a missing file is left to the thread', async () => {
    const file = newSqliteFile();
    expect(await firstCalls(file)).toEqual(['open']);
    expect(readdirSync(dirname(file))).toEqual([]);
  });

  test('[ST15, ST1] a file with an older schema is left to the thread', async () => {
    const file = newSqliteFile();
    await newSession(file);
    change(file, 'UPDATE meta SET schema = schema - 1');
    expect(await firstCalls(file)).toEqual(['open']);
    expect(descriptorsOf(file)).toEqual([]);
  });

  test('[ST8, ST2] a file that needs a newer release is left to the thread', async () => {
    const file = newSqliteFile();
    await newSession(file);
    change(file, "UPDATE meta SET oldest_reader = '9.0.0'");
    expect(await firstCalls(file)).toEqual(['open']);
  });

  test('[ST15, FAULT1] a file that another process locks exclusively is left to the thread without waiting', async () => {
    const file = newSqliteFile();
    await newSession(file);
    const other = new DatabaseSync(file);
    onTestFinished(() => other.close());
    other.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT');
    const began = performance.now();
    expect(await firstCalls(file)).toEqual(['open']);
    expect(performance.now() - began).toBeLessThan(1000);
  });

  test('[ST8] a file without a write-ahead log is left to the thread and stays unchanged', async () => {
    const file = newSqliteFile();
    await newSession(file);
    change(file, 'PRAGMA journal_mode = DELETE');
    const before = readFileSync(file);
    expect(await firstCalls(file)).toEqual(['open']);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test.each(['by its name', 'by a link'])(
    '[ST15] a file with a long write-ahead log, opened %s, is left to the thread',
    async (how) => {
      const [file, link] = [newSqliteFile(), newSqliteFile()];
      await newSession(file);
      writeFileSync(`${file}-wal`, Buffer.alloc(21 * 1024 * 1024));
      symlinkSync(file, link);
      expect(await firstCalls(how === 'by a link' ? link : file)).toEqual(['open']);
    },
  );

  test('[ST8, FAULT1] a file that is not a database, or an impossible path, is left to the thread', async () => {
    const file = newSqliteFile();
    writeFileSync(file, 'no database at all, but a text of some length'.repeat(100));
    symlinkSync(`${file}-loop`, `${file}-loop`);
    for (const each of [file, `${file}-loop`, `${file}/below`, file.padEnd(5000, 'x')]) {
      expect(await firstCalls(each)).toEqual(['open']);
    }
  });
});
