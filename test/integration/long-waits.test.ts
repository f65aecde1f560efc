import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { systemTimekeeper } from '../../src/core/ports/timekeeper.ts';
import { runTool } from '../../src/core/worker/run-tool.ts';
import { openRuntime } from '../../src/index.ts';
import { guardAgainstStall } from '../../src/models/stall-guard.ts';
import { openPostgresStore } from '../../src/stores/postgres/index.ts';
import { openSqliteStore } from '../../src/stores/sqlite/index.ts';
import { openChanges } from '../../src/stores/sqlite/log/changes.ts';
import { newKey } from '../../src/testing/contract/contract-setup.ts';
import { openSession } from '../../src/testing/contract/log/session-log.ts';
import { newWakeSignal } from '../../src/testing/contract/waking/wake-signal.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { defineTool } from '../../src/tools/index.ts';
import { createDatabase } from '../support/postgres/postgres.ts';
import { newToolContext } from '../support/runs/tool-context.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { newSqliteFile } from '../support/stores/sqlite-file.ts';

/** A Node timer with this delay overflows: it fires immediately, with a warning. */
const longMs = 2 ** 31;

const rungAtOnce: Error[] = [];
const note = (warning: Error): void => {
  if (warning.name === 'TimeoutOverflowWarning') rungAtOnce.push(warning);
};
beforeAll(() => void process.on('warning', note));
afterAll(() => void process.off('warning', note));

const expectNoneRang = async (): Promise<void> => {
  await pause(20);
  expect(rungAtOnce.splice(0).map(String)).toEqual([]);
};

test('a dispatcher with a very long sweep interval sleeps for the whole interval', async () => {
  const runtime = await openRuntime({ store: openMemoryStore() });
  const dispatcher = runtime.dispatcher({ sweepMs: longMs, pollMs: longMs });
  dispatcher.start();
  await expectNoneRang();
  await dispatcher.stop();
  await runtime.close();
});

test('[MODEL7] a very long stall timeout does not fire early', async () => {
  const guard = guardAgainstStall(longMs, new AbortController().signal);
  await expectNoneRang();
  expect(guard.stalled).toBe(false);
  guard.end();
});

test('a very long retry backoff does not fire early', async () => {
  const tool = defineTool({
    name: 'fail',
    description: 'Fails.',
    input: z.object({}),
    effects: 'none',
    retry: { times: 100, backoffMs: 1 },
    execute: () => Promise.reject(new Error('no')),
  });
  const leaving = new AbortController();
  const tries: number[] = [];
  const context = newToolContext('/', { signal: leaving.signal });
  const ended = runTool(
    systemTimekeeper(),
    { tool, callId: 'c', input: {}, value: {} },
    { context: () => context, inside: (work) => work() },
    40,
    async (n) => void tries.push(n),
  );
  await expectNoneRang();
  expect(tries).toEqual([]);
  leaving.abort();
  await ended;
});

test('a server accepts very long timeouts for clients and for draining', async () => {
  const timeouts = { headMs: 2 * longMs, requestMs: 2 * longMs, stallMs: longMs };
  const { server, ask } = await startTestServer({ beatMs: longMs, drainMs: longMs, timeouts });
  const leaving = new AbortController();
  const stream = await ask('/v1/events', { signal: leaving.signal });
  await expectNoneRang();
  leaving.abort();
  await stream.body?.cancel().catch(() => undefined);
  await server.stop();
  await expectNoneRang();
});

test('a PostgreSQL store accepts very long timeouts and poll intervals', async () => {
  const database = await createDatabase();
  const store = await openPostgresStore({
    url: database.url,
    statementTimeoutMs: longMs,
    fallbackPollMs: longMs,
    keepAliveMs: longMs,
  });
  const key = newKey();
  await openSession(store, key);
  const signal = newWakeSignal();
  store.watch(key, signal.wake);
  await signal.next();
  await expectNoneRang();
  await store.close();
  await database.drop();
});

test('a SQLite store accepts very long timeouts and poll intervals', async () => {
  const file = newSqliteFile();
  const store = await openSqliteStore({ file, busyTimeoutMs: longMs });
  await openSession(store, newKey());
  await store.close();
  const db = new DatabaseSync(file);
  const changes = openChanges(db, { file, fallbackPollMs: longMs }, () => undefined);
  changes.start();
  await expectNoneRang();
  changes.stop();
  db.close();
});
