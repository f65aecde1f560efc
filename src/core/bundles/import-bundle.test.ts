import { readdirSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { bundleBomb, mebibyte } from '../../../test/support/stores/bundle-bomb.ts';
import { madeBundle } from '../../../test/support/stores/made-bundle.ts';
import { openRuntime } from '../../runtime.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { payloadDigest } from '../session/events/chain.ts';

const exported = async () => {
  const runtime = await openRuntime({ store: openMemoryStore() });
  const session = await runtime.sessions.open();
  await session.append({ role: 'user', content: 'hello' });
  return { runtime, bundle: Buffer.concat(await Array.fromAsync(session.export())) };
};

describe('an import', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'perdure-'));
    vi.stubEnv('TMPDIR', folder);
  });
  afterEach(async () => {
    vi.unstubAllEnvs();
    await rm(folder, { recursive: true, force: true });
  });

  test.each(['text', 5, null, { length: 1 }])(
    '[IN1] of a value that is not bytes, such as %j, is rejected',
    async (chunk) => {
      const { runtime } = await exported();
      const source = async function* () {
        yield chunk as never;
      };
      await expect(runtime.sessions.import(source())).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('bytes'),
      });
      await runtime.close();
    },
  );

  test('[FAULT1] leaves nothing in the temporary folder, even while it runs', async () => {
    const { runtime, bundle } = await exported();
    const seen: string[][] = [];
    const source = async function* () {
      for (const byte of [10, bundle.length]) {
        yield bundle.subarray(byte === 10 ? 0 : 10, byte);
        seen.push(readdirSync(folder));
      }
    };
    await runtime.as({ workspace: 'copy', member: 'ann', role: 'admin' }).sessions.import(source());
    expect(seen).toEqual([[], []]);
    await runtime.close();
  });

  test('[FAULT1] fails without a temporary folder, and the error says which folder is missing and what to set', async () => {
    const { runtime, bundle } = await exported();
    await rm(folder, { recursive: true });
    const source = async function* () {
      yield bundle;
    };
    await expect(runtime.sessions.import(source())).rejects.toMatchObject({
      code: 'FILE_UNAVAILABLE',
      message: expect.stringMatching(new RegExp(`${folder}.*TMPDIR`)),
    });
    await mkdir(folder);
    expect((await runtime.sessions.import(source())).sessions).toHaveLength(1);
    await runtime.close();
  });

  test('[BUN13] ends when its signal aborts while its source is stalled, and ends the source too', async () => {
    const { runtime, bundle } = await exported();
    const ending = new AbortController();
    const over = Promise.withResolvers<void>();
    const source = {
      [Symbol.asyncIterator]: () => ({
        next: () => {
          setImmediate(() => ending.abort());
          return new Promise<never>(() => {});
        },
        return: async () => {
          over.resolve();
          return { done: true as const, value: undefined };
        },
      }),
    };
    const copies = runtime.as({ workspace: 'copy', member: 'ann', role: 'admin' }).sessions;
    const importing = copies.import(source, { signal: ending.signal });
    await expect(importing).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
    await over.promise;
    const whole = async function* () {
      yield bundle;
    };
    const late = copies.import(whole(), { signal: ending.signal });
    await expect(late).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
    expect((await copies.list()).sessions).toEqual([]);
    await runtime.close();
  });

  test('[BUN13] ends when its signal aborts or its runtime closes, even if much is left to read', async () => {
    const { runtime } = await exported();
    const bomb = await bundleBomb({ contents: 8, mebibytes: 32 });
    const ending = new AbortController();
    const source = async function* (then: () => void) {
      yield bomb;
      setImmediate(then);
    };
    const ended = runtime.sessions.import(
      source(() => ending.abort()),
      { signal: ending.signal },
    );
    await expect(ended).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
    const closed = runtime.sessions.import(source(() => void runtime.close()));
    await expect(closed).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
    await runtime.close();
  });

  test('[BUN12] beyond its limits is rejected, and the error names the limit', async () => {
    const { runtime, bundle } = await exported();
    const source = async function* (bytes: Uint8Array) {
      yield bytes;
    };
    const copies = runtime.as({ workspace: 'copy', member: 'ann', role: 'admin' }).sessions;
    const bomb = await bundleBomb({ contents: 1, mebibytes: 32 });
    await expect(copies.import(source(bomb), { maxBytes: mebibyte })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      message: expect.stringMatching(/1048576 bytes.*nothing was imported/),
      details: { maxBytes: mebibyte },
    });
    const { length } = zstdDecompressSync(bundle);
    await expect(copies.import(source(bundle), { maxBytes: length - 1 })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
    });
    const commits = madeBundle([
      { type: 'session.opened', payload: {} },
      ...['a', 'b', 'c'].map((name) => ({
        type: 'state.committed',
        payload: {
          delta: [{ op: 'add', path: `/facts/${name}`, value: 'x'.repeat(1000) }],
          inverse: [{ op: 'remove', path: `/facts/${name}` }],
          provenance: 'human',
        },
      })),
    ]);
    await expect(copies.import(source(commits.bytes), { maxCommitBytes: 3000 })).rejects.toMatchObject({
      code: 'PAYLOAD_TOO_LARGE',
      details: { maxBytes: 3000 },
    });
    expect((await copies.import(source(commits.bytes), { maxCommitBytes: 4000 })).sessions).toHaveLength(1);
    await expect(copies.import(source(bundle), { maxBytes: 0 })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    expect((await copies.import(source(bundle), { maxBytes: length })).sessions).toHaveLength(1);
    await runtime.close();
  });

  test('[BUN9, HASH3] keeps redacted payloads redacted', async () => {
    const database = newMemoryDatabase();
    const runtime = await openRuntime({ store: openMemoryStore(database) });
    const session = await runtime.sessions.open({ title: 'redacted' });
    await session.append({ role: 'user', content: 'hello' });
    const { events } = database.workspaces.get('local' as WorkspaceId)!.sessions.get(session.id)!;
    const event = events.get(2)!;
    if (event.body.kind !== 'bytes') throw new Error('expected bytes');
    const body = { kind: 'redacted', digest: payloadDigest(event.body.salt, event.body.bytes) } as const;
    events.set(2, { ...event, body });
    const copies = runtime.as({ workspace: 'copy', member: 'ann', role: 'admin' }).sessions;
    expect(await copies.import(session.export())).toMatchObject({ sessions: [{ session: session.id, added: 2 }] });
    const verified = await (await copies.get(session.id)).verify();
    expect(verified).toMatchObject({ ok: true, events: 2 });
    expect(verified).toEqual(await session.verify());
    const copied = database.workspaces.get('copy' as WorkspaceId)!.sessions.get(session.id)!.events;
    expect(copied.get(2)!.body.kind).toBe('redacted');
    await runtime.close();
  });

  test('[FAULT1, BUN3] that is rejected ends its source and leaves no file open', async () => {
    const { runtime, bundle } = await exported();
    bundle[bundle.length >> 1]! ^= 1;
    const open = () => readdirSync('/proc/self/fd').length;
    const before = open();
    let ended = 0;
    for (const bytes of [bundle, Buffer.from('no bundle\n')]) {
      const source = async function* () {
        try {
          yield bytes;
          yield bytes;
        } finally {
          ended += 1;
        }
      };
      for (let times = 0; times < 20; times++) {
        await expect(runtime.sessions.import(source())).rejects.toMatchObject({ code: 'BUNDLE_INVALID' });
      }
    }
    await expect.poll(() => ended).toBe(40);
    expect(open()).toBeLessThanOrEqual(before);
    await runtime.close();
  });
});
