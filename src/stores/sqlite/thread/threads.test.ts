import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { moduleUrl, runScript } from '../../../../test/support/cli/run-script.ts';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { expectSound, openSession } from '../../../testing/contract/log/session-log.ts';
import type { Operations } from './protocol.ts';
import { ThreadClient } from './thread-client.ts';

const prelude = (file: string): string => `
  import { openSqliteStore } from ${moduleUrl('src/stores/sqlite/index.ts')};
  import { openSession } from ${moduleUrl('src/testing/contract/log/session-log.ts')};
  const store = await openSqliteStore({ file: ${JSON.stringify(file)} });
`;

describe('threads and their process', () => {
  test('a process with nothing else to do ends, even with an open store and a watched session', async () => {
    const file = newSqliteFile();
    const key = newKey();
    const script = runScript(`${prelude(file)}
      await openSession(store, ${JSON.stringify(key)});
      await store.head(${JSON.stringify(key)});
      store.watch(${JSON.stringify(key)}, () => undefined);
    `);
    expect(await script.ended).toEqual({ code: 0, said: '' });
    await expectSound(await openSqlite(file), key);
  });

  test('an append in flight keeps its process alive until it is answered', async () => {
    const file = newSqliteFile();
    const key = newKey();
    const script = runScript(`${prelude(file)}
      openSession(store, ${JSON.stringify(key)}).then(() => console.log('answered'));
    `);
    expect(await script.line()).toBe('answered');
    expect(await script.ended).toEqual({ code: 0, said: '' });
    await expectSound(await openSqlite(file), key);
  });
});

interface Echo extends Operations {
  readonly echo: (text: unknown) => { readonly value: unknown };
  readonly exit: () => { readonly value: never };
  readonly throw: () => { readonly value: never };
}

const echoThread = `
  import { workerData } from 'node:worker_threads';
  const { port, started } = workerData;
  Atomics.add(started, 0, 1);
  port.on('message', (calls) => {
    for (const { id, op, args } of calls) {
      if (op === 'exit') process.exit(3);
      if (op === 'throw') throw new Error('a defect');
      port.postMessage({ replies: [{ id, value: args[0] }] });
    }
  });
`;

const newClient = (started = new Int32Array(new SharedArrayBuffer(4))) =>
  new ThreadClient<Echo>({
    entry: new URL(`data:text/javascript,${encodeURIComponent(echoThread)}`),
    data: { started },
    lost: (cause) => new Error('lost', { cause }),
  });

describe('delayed start of a thread', () => {
  test('[ST8] a thread starts after its delay or with the first call, and only once', async () => {
    const started = new Int32Array(new SharedArrayBuffer(4));
    const client = newClient(started);
    client.startAfter(10);
    await expect.poll(() => started[0], { timeout: 5000 }).toBe(1);
    expect(await client.call('echo', ['a'])).toBe('a');
    await client.stop();
    client.startAfter(10);
    expect(await client.call('echo', ['b'])).toBe('b');
    await pause(50);
    await client.stop();
    expect(started[0]).toBe(2);
  });

  test('[ST8] a thread that was stopped before its delay does not start', async () => {
    const started = new Int32Array(new SharedArrayBuffer(4));
    const client = newClient(started);
    client.startAfter(10);
    await client.stop();
    await pause(200);
    expect(started[0]).toBe(0);
  });
});

describe('a call that cannot be sent', () => {
  test('[FAULT6] only the call that cannot be sent fails, and other calls of its tick are answered', async () => {
    const client = newClient();
    const bytes = new Uint8Array([1, 2, 3]);
    const calls = [
      client.call('echo', ['before']),
      client.call('echo', [() => 'no message holds a function']),
      client.call('echo', [bytes], [bytes.buffer]),
    ];
    const closing = client.close(async () => undefined);
    expect(await Promise.allSettled(calls)).toMatchObject([
      { value: 'before' },
      { reason: { code: 'INVALID_INPUT' } },
      { value: new Uint8Array([1, 2, 3]) },
    ]);
    await closing;
  });

  test('[FAULT6] a call that cannot be sent leaves the store usable', async () => {
    const store = await openSqlite(newSqliteFile());
    const key = newKey();
    const body = { name: () => 'no JSON' } as never;
    const writing = store.writeRecords(key.workspace, [{ kind: 'member', id: 'm', onVersion: 0, body }]);
    const opening = openSession(store, key);
    await expect(writing).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await opening;
    await expectSound(store, key);
  });
});

describe('a thread that dies', () => {
  test.each(['exit', 'throw'] as const)(
    '[FAULT1] when a thread dies by %s, calls in flight fail, and the next call starts a new thread',
    async (op) => {
      const client = newClient();
      expect(await client.call('echo', ['a'])).toBe('a');
      const underWay = [client.call(op, []), client.call('echo', ['b'])];
      for (const call of underWay) await expect(call).rejects.toThrow('lost');
      expect(await client.call('echo', ['c'])).toBe('c');
      await client.stop();
    },
  );

  test('each answer reaches its caller, whether the calls were made in one tick or in several', async () => {
    const client = newClient();
    const texts = Array.from({ length: 50 }, (_, index) => `${index}`);
    expect(await Promise.all(texts.map((text) => client.call('echo', [text])))).toEqual(texts);
    for (const text of texts) expect(await client.call('echo', [text])).toBe(text);
    await client.stop();
  });
});
