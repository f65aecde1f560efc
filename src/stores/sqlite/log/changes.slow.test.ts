import { once } from 'node:events';
import { symlinkSync } from 'node:fs';
import { backup, DatabaseSync } from 'node:sqlite';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { moduleUrl, runScript } from '../../../../test/support/cli/run-script.ts';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { rawText } from '../../../testing/contract/log/new-events.ts';
import { expectSound, mustAppend, openSession, seqs, textOf } from '../../../testing/contract/log/session-log.ts';
import { enterSession, entryOf, foundIn } from '../../../testing/contract/queue/work-events.ts';
import { newWakeSignal } from '../../../testing/contract/waking/wake-signal.ts';
import type { Change } from '../../waking/watchers.ts';
import { openConnection } from '../file/connection.ts';
import { migrate } from '../file/migrations.ts';
import { openChanges } from './changes.ts';

const hourMs = 3_600_000;

/**
 * Appends one event per input line. Prints when it began and when the append was acknowledged, by the monotonic
 * clock.
 */
const appender = (file: string, key: object): string => `
  import { createInterface } from 'node:readline';
  import { openSqliteStore } from ${moduleUrl('src/stores/sqlite/index.ts')};
  import { rawText } from ${moduleUrl('src/testing/contract/log/new-events.ts')};
  import { mustAppend } from ${moduleUrl('src/testing/contract/log/session-log.ts')};
  const store = await openSqliteStore({ file: ${JSON.stringify(file)} });
  console.log('ready');
  for await (const text of createInterface({ input: process.stdin })) {
    const began = process.hrtime.bigint();
    await mustAppend(store, ${JSON.stringify(key)}, [rawText(text)]);
    console.log(began + ' ' + process.hrtime.bigint());
  }
`;

test('[WAKE1] another process wakes a follower through the file alone, and followers of other sessions stay asleep', async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file, { fallbackPollMs: hourMs });
  const key = newKey();
  const idle = newKey();
  await openSession(store, key);
  await openSession(store, idle);
  const [signal, idleSignal] = [newWakeSignal(), newWakeSignal()];
  store.watch(key, signal.wake);
  store.watch(idle, idleSignal.wake);
  await signal.next();
  await idleSignal.next();
  const before = idleSignal.count;

  const other = runScript(appender(file, key));
  expect(await other.line()).toBe('ready');
  for (let seq = 2; seq <= 6; seq++) {
    other.tell('hello');
    await signal.next();
    expect(seqs(await store.read(key, { after: seq - 1, limit: 10 }))).toEqual([seq]);
    await other.line();
  }
  expect(idleSignal.count).toBe(before);
  other.kill();
});

test("[WAKE4] a workspace watcher is notified of another process's commits through the file alone", async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file, { fallbackPollMs: hourMs });
  const key = newKey();
  await openSession(store, key);
  const heard = newWakeSignal();
  let newest = 0;
  store.watchWorkspace(key.workspace, (session, seq) => {
    if (session === key.session) newest = seq;
    heard.wake();
  });
  const other = runScript(appender(file, key));
  onTestFinished(() => other.kill());
  expect(await other.line()).toBe('ready');
  for (let seq = 2; seq <= 6; seq++) {
    other.tell('hello');
    while (newest < seq) await heard.next();
    await other.line();
  }
});

/** Performs one action per input line, and prints it when done. */
const worker = (file: string, key: object): string => `
  import { createInterface } from 'node:readline';
  import { openSqliteStore } from ${moduleUrl('src/stores/sqlite/index.ts')};
  import { rawText } from ${moduleUrl('src/testing/contract/log/new-events.ts')};
  import { mustAppend } from ${moduleUrl('src/testing/contract/log/session-log.ts')};
  import { calling, leaseAs } from ${moduleUrl('src/testing/contract/queue/work-events.ts')};
  const store = await openSqliteStore({ file: ${JSON.stringify(file)} });
  const key = ${JSON.stringify(key)};
  const actions = {
    call: () => mustAppend(store, key, [calling()]),
    note: () => mustAppend(store, key, [rawText('x')]),
    lease: () => leaseAs(store, key, 'w1'),
    leave: () => store.release(key, { worker: 'w1' }),
  };
  console.log('ready');
  for await (const action of createInterface({ input: process.stdin })) {
    await actions[action]();
    console.log(action);
  }
`;

test('[QUEUE5] another process wakes a worker through the file alone, by calling for work and by releasing it', async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file, { fallbackPollMs: hourMs });
  const key = await enterSession(store);
  const [signal, elsewhere] = [newWakeSignal(), newWakeSignal()];
  store.watchWork(key.workspace, signal.wake);
  store.watchWork(newKey().workspace, elsewhere.wake);
  await Promise.all([signal.next(), elsewhere.next()]);
  const other = runScript(worker(file, key));
  expect(await other.line()).toBe('ready');
  for (const actions of [['call'], ['note', 'lease', 'leave'], ['lease', 'call'], ['leave']]) {
    const before = signal.count;
    for (const [index, action] of actions.entries()) {
      if (index === actions.length - 1) expect(signal.count).toBe(before);
      other.tell(action);
      expect(await other.line()).toBe(action);
    }
    await signal.next();
  }
  expect(await foundIn(store, key.workspace)).toEqual([entryOf(key, 5)]);
  expect(elsewhere.count).toBe(1);
  other.kill();
});

test("[WAKE1] a follower in the writer's process wakes after the append is acknowledged, without the file system", async () => {
  const store = await openSqlite(newSqliteFile(), { fallbackPollMs: hourMs });
  const key = newKey();
  await openSession(store, key);
  const signal = newWakeSignal();
  store.watch(key, signal.wake);
  await signal.next();
  for (let round = 1; round <= 10; round++) {
    await mustAppend(store, key, [rawText('x')]);
    await signal.next();
  }
});

test('[WAKE1] a follower that opened the file through a symbolic link wakes too', async () => {
  const file = newSqliteFile();
  const writer = await openSqlite(file);
  const link = newSqliteFile();
  symlinkSync(file, link);
  const follower = await openSqlite(link, { fallbackPollMs: hourMs });
  const key = newKey();
  const signal = newWakeSignal();
  follower.watch(key, signal.wake);
  await signal.next();
  await openSession(writer, key);
  await signal.next();
});

test('[WAKE1] where the file system reports nothing, slow polling finds commits', async () => {
  const file = newSqliteFile();
  const writer = await openSqlite(file);
  const [key, other] = [newKey(), newKey()];
  await openSession(writer, other);
  const db = openConnection({ file, busyTimeoutMs: 1000 });
  const reported = Promise.withResolvers<readonly Change[]>();
  const changes = openChanges(db, { file: `${file}/not/there`, fallbackPollMs: 5 }, reported.resolve);
  changes.start();
  await openSession(writer, key);
  expect(await reported.promise).toEqual([{ ...key, seq: 1, at: expect.any(Number), work: false }]);
  changes.stop();
  db.close();
});

test('[WAKE6] after a file was restored in place to an earlier state, new commits wake followers again', async () => {
  const [file, kept] = [newSqliteFile(), newSqliteFile()];
  const copyTo = async (from: string, to: string) => {
    const source = new DatabaseSync(from);
    await backup(source, to);
    source.close();
  };
  const key = newKey();
  const writer = await openSqlite(file);
  await openSession(writer, key);
  await writer.close();
  await copyTo(file, kept);
  const follower = await openSqlite(file, { fallbackPollMs: 20 });
  await mustAppend(follower, key, [rawText('lost'), rawText('lost too')]);
  const seen: number[] = [];
  const signal = newWakeSignal();
  follower.watch(key, (seq) => {
    if (seq !== undefined) seen.push(seq);
    signal.wake();
  });
  await signal.next();
  await copyTo(kept, file);
  while (seen.at(-1) !== 1) await signal.next();
  const other = await openSqlite(file);
  await mustAppend(other, key, [rawText('found')]);
  while (seen.at(-1) !== 2) await signal.next();
  expect((await expectSound(follower, key)).slice(1).map(textOf)).toEqual(['found']);
});

/** A thread that only ticks. Its delay shows how late any thread of this process may be. */
const startTicking = () => {
  const tickMs = 5;
  const tick = `setInterval(() => require('node:worker_threads').parentPort.postMessage(0), ${tickMs})`;
  const thread = new Worker(tick, { eval: true });
  let heard = performance.now();
  let latestMs = 0;
  const hear = () => {
    const now = performance.now();
    latestMs = Math.max(latestMs, now - heard - tickMs);
    heard = now;
  };
  thread.on('message', hear);
  onTestFinished(() => void thread.terminate());
  return {
    started: once(thread, 'message'),
    /** The greatest delay since the last call. */
    latestMs: () => {
      hear();
      const late = latestMs;
      latestMs = 0;
      return late;
    },
  };
};

test("[WAKE1] a follower is notified of another process's commits within 50 ms, apart from delays of the machine itself", async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  const signal = newWakeSignal();
  store.watch(key, signal.wake);
  await signal.next();
  const other = runScript(appender(file, key));
  onTestFinished(() => other.kill());
  expect(await other.line()).toBe('ready');
  const ticking = startTicking();
  await ticking.started;
  // From the file system's thread, through the reader's thread and its timer, to ours.
  const hops = 3;
  const overdueMs: number[] = [];
  while (overdueMs.length < 20) {
    ticking.latestMs();
    other.tell('hello');
    await signal.next();
    const woken = process.hrtime.bigint();
    const lateMs = ticking.latestMs();
    const [began, acknowledged] = (await other.line())!.split(' ').map(BigInt);
    // If a sync takes longer than the re-check window after a file event, slow polling covers it.
    if (acknowledged! - began! < 200_000_000n) {
      overdueMs.push(Number(woken - acknowledged!) / 1e6 - hops * lateMs);
    }
  }
  // An overloaded machine may delay one thread longer than another, so the slowest quarter is not counted.
  expect(overdueMs.toSorted((a, b) => a - b)[14]).toBeLessThan(50);
});

test('[WAKE1] an idle file is checked once per slow poll and not in between', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const file = newSqliteFile();
  const db = openConnection({ file, busyTimeoutMs: 1000 });
  migrate(db, file, '1.0.0', () => undefined);
  onTestFinished(() => db.close());
  const checks = vi.fn();
  const prepare = (sql: string) => {
    const statement = db.prepare(sql);
    if (!sql.includes('data_version')) return statement;
    return { get: () => checks() ?? statement.get() };
  };
  const changes = openChanges({ prepare } as typeof db, { file, fallbackPollMs: 1000 }, () => undefined);
  changes.start();
  vi.advanceTimersByTime(60_000);
  changes.stop();
  expect(checks).toHaveBeenCalledTimes(1 + 60);
});

test('[WAKE1] a process that follows idle sessions uses almost no CPU time', async () => {
  const file = newSqliteFile();
  const store = await openSqlite(file);
  const keys = Array.from({ length: 20 }, () => newKey());
  for (const key of keys) await openSession(store, key);
  const script = runScript(`
    import { setTimeout as pause } from 'node:timers/promises';
    import { openSqliteStore } from ${moduleUrl('src/stores/sqlite/index.ts')};
    const store = await openSqliteStore({ file: ${JSON.stringify(file)} });
    for (const key of ${JSON.stringify(keys)}) store.watch(key, () => undefined);
    await pause(500);
    const before = process.cpuUsage();
    await pause(2000);
    const { user, system } = process.cpuUsage(before);
    console.log((user + system) / 1000);
    await store.close();
  `);
  const usedMs = Number(await script.line());
  expect(usedMs).toBeLessThan(200);
  expect(await script.ended).toEqual({ code: 0, said: '' });
});
