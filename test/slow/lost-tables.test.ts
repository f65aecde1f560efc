import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRuntime } from '../../src/index.ts';
import { callCli } from '../support/cli/call-cli.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('lost tables, rows and indexes on %s', (kind) => {
  let place: StorePlace;
  let id: string;
  beforeEach(async () => {
    place = await newStorePlace(kind);
    const runtime = await openRuntime({ store: place.address, snapshots: { everyEvents: 2, everyBytes: 1e9 } });
    const session = await runtime.sessions.open();
    for (const content of ['a', 'b', 'c']) await session.append({ role: 'user', content }, { idempotencyKey: content });
    id = session.id;
    await runtime.close();
  });
  afterEach(() => place.remove());
  const perdure = (...args: string[]) =>
    callCli([...args, '--store', place.address], { columns: Number.POSITIVE_INFINITY });
  const change = (sql: (prefix: string) => string) => place.edit((_, prefix) => sql(prefix));

  const metas: Record<string, (meta: string) => string> = {
    'no row': (meta) => `delete from ${meta}`,
    'a schema of 0': (meta) => `update ${meta} set schema = 0`,
    'a schema below 0': (meta) => `update ${meta} set schema = -1`,
    'an outdated schema': (meta) => `update ${meta} set schema = 1`,
    'no release': (meta) => `update ${meta} set oldest_reader = 'x'`,
    'no table': (meta) => `drop table ${meta}`,
  };
  test.each(Object.entries(metas))(
    '[ST1, FAULT1] %s in meta is reported as STORE_CORRUPT, and nothing is changed',
    async (_, sql) => {
      await change((prefix) => sql(`${prefix}meta`));
      const before = await place.values();
      for (const args of [['ls'], ['show', id], ['verify', '--all'], ['repair', '--projections']]) {
        expect({ args, ...(await perdure(...args)) }).toMatchObject({
          args,
          code: 1,
          err: expect.stringMatching(/^error STORE_CORRUPT: .* restore it from a backup/),
        });
      }
      expect(await place.values()).toEqual(before);
    },
  );

  test.each(['sessions', 'events', 'keys', 'blobs', 'work', 'workers', 'records'])(
    '[FAULT1] a missing table %s is reported as STORE_CORRUPT',
    async (table) => {
      await change((prefix) => `drop table ${prefix}${table}`);
      const said = [];
      for (const args of [
        ['ls'],
        ['show', id],
        ['close', id],
        ['verify', id],
        ['repair', '--projections'],
        ['gc'],
        ['workers'],
      ]) {
        const { code, out, err } = await perdure(...args);
        expect({ args, code, err }).toMatchObject({ args, code: expect.toBeOneOf([0, 1]) });
        if (code === 1) said.push(out + err);
      }
      for (const each of said) expect(each).toMatch(/STORE_CORRUPT.* restore it from a backup/s);
      expect(said.length).toBeGreaterThan(0);
    },
  );

  test('[FAULT1, QRY4] a repair recreates a missing index', async () => {
    const index = { sqlite: 'sessions_by_root', postgres: 'perdure.sessions_root' }[kind];
    await change(() => `drop index ${index}`);
    const { code, err } = await perdure('tree', id);
    if (code !== 0) expect(err).toMatch(/^error STORE_CORRUPT: .*run `perdure repair --projections`/);
    expect(await perdure('repair', '--projections')).toMatchObject({ code: 0 });
    expect(await perdure('tree', id)).toMatchObject({ code: 0, out: expect.stringContaining(id) });
  });

  test('[FOLD2, QRY4] a repair recreates the missing table of snapshots, which is only a cache', async () => {
    await change((prefix) => `drop table ${prefix}snapshots`);
    expect(await perdure('show', id)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error STORE_CORRUPT: .*run `perdure repair --projections`/),
    });
    expect(await perdure('gc')).toMatchObject({ code: 1, err: expect.stringContaining('STORE_CORRUPT') });
    expect(await perdure('ls')).toMatchObject({ code: 0 });
    expect(await perdure('repair', '--projections')).toMatchObject({ code: 0 });
    expect(await perdure('show', id)).toMatchObject({ code: 0 });
    const runtime = await openRuntime({ store: place.address, snapshots: { everyEvents: 1, everyBytes: 1e9 } });
    await (await runtime.sessions.get(id)).append({ role: 'user', content: 'on' });
    await runtime.close();
    expect(await perdure('verify', id)).toMatchObject({ code: 0 });
  });
});
