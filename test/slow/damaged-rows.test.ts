import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { openRuntime, type Runtime, type Sessions } from '../../src/index.ts';
import { callCli } from '../support/cli/call-cli.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

/** The first integer that JavaScript cannot represent exactly, and the largest that the databases can store. */
const [unsafe, greatest] = ['9007199254740993', '9223372036854775807'];

describe.each(storeKinds)('rows changed by hand on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  /** A session to damage, a fork of it, and an unrelated session. */
  let [damaged, fork, sound] = ['', '', ''];
  beforeEach(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address });
    [damaged, sound] = [await talk(), await talk()];
    fork = (await (await runtime.sessions.get(damaged)).fork({ at: { seq: 3 } })).id;
  });
  afterEach(async () => {
    await runtime.close();
    await place.remove();
  });

  const talk = async (): Promise<string> => {
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'go' }, { idempotencyKey: 'once' });
    await session.append([
      { role: 'assistant', content: 'x'.repeat(20_000) },
      { role: 'user', content: 'on' },
    ]);
    await session.append({ role: 'assistant', content: 'here' });
    return session.id;
  };
  const edit = (table: string, change: string, where: string): Promise<void> =>
    place.edit((_, prefix) => `update ${prefix}${table} set ${change} where ${where}`);
  const editEvent = (seq: number, change: string) => edit('events', change, `session = '${damaged}' and seq = ${seq}`);
  const editSession = (change: string, id = damaged) => edit('sessions', change, `id = '${id}'`);
  /** Opens the store as a new process would, without caches. */
  const restarted = async (): Promise<Sessions> => {
    const again = await openRuntime({ store: place.address });
    onTestFinished(() => again.close());
    return again.sessions;
  };
  const perdure = (...args: string[]) =>
    callCli([...args, '--store', place.address], { columns: Number.POSITIVE_INFINITY });
  const verifyAll = async () => {
    const { code, out, err } = await perdure('verify', '--all', '--json');
    expect({ code, err }).toEqual({ code: expect.any(Number), err: '' });
    return new Map<string, object>(
      JSON.parse(out).sessions.map((checked: { session: string }) => [checked.session, checked]),
    );
  };
  const expectOthersSound = async (): Promise<void> => {
    const sessions = await restarted();
    expect((await sessions.list()).sessions.map(({ id }) => id).sort()).toEqual([damaged, fork, sound].sort());
    const other = await sessions.get(sound);
    await other.append({ role: 'user', content: 'still here' });
    expect(await other.verify()).toMatchObject({ ok: true });
    expect(await perdure('ls')).toMatchObject({ code: 0, out: expect.stringContaining(sound) });
  };

  describe('event numbers that no release writes', () => {
    const columns = kind === 'sqlite' ? ['turn', 'at', 'version', 'opens_turn', 'encoding'] : ['turn', 'at'];
    const numbers = [unsafe, '-1'];
    test.each(columns.flatMap((column) => numbers.map((number) => [column, number] as const)))(
      '[HASH4, FAULT2] %s %s is found at its event and affects no other session',
      async (column, number) => {
        await editEvent(4, `${column} = ${number}`);
        const found = await verifyAll();
        expect(found.get(damaged)).toMatchObject({ ok: false, bad: { seq: 4 } });
        for (const id of [fork, sound]) expect(found.get(id)).toMatchObject({ ok: true });
        await expectOthersSound();
        await (await restarted()).rebuildProjections();
        if (column !== 'opens_turn') expect((await verifyAll()).get(damaged)).toMatchObject({ bad: { seq: 4 } });
        if (!['turn', 'at', 'version'].includes(column)) return;
        const transcript = (await (await restarted()).get(damaged)).transcript({ at: { seq: 5 } });
        await expect(transcript).rejects.toMatchObject({
          code: 'EVENT_DAMAGED',
          details: { session: damaged, seq: 4 },
        });
      },
    );

    test('[HASH4, FAULT2] are found in a log of one event too', async () => {
      const { id } = await runtime.sessions.open();
      for (const change of [`at = ${greatest}`, `turn = ${greatest}`]) {
        await edit('events', change, `session = '${id}'`);
        await (await restarted()).rebuildProjections();
        expect((await verifyAll()).get(id)).toMatchObject({ bad: { seq: 1 } });
      }
      expect((await verifyAll()).get(sound)).toMatchObject({ ok: true });
    });
  });

  test('[FAULT2] a session with an invalid status is still listed', async () => {
    await editSession("status = 'broken'");
    await expectOthersSound();
    const { sessions } = await (await restarted()).list();
    expect(sessions.map(({ id }) => id)).toContain(damaged);
    expect(await perdure('ls')).toMatchObject({ code: 0, out: expect.stringContaining(damaged) });
  });

  test.each(kind === 'sqlite' ? [`seq = ${unsafe}`, `count = ${unsafe}`, `count = ${greatest}`] : [`seq = ${unsafe}`])(
    '[HASH7, FAULT2] a key row with %s is found',
    async (change) => {
      await edit('keys', change, `session = '${damaged}'`);
      const found = await verifyAll();
      expect(found.get(damaged)).toMatchObject({ bad: { reason: expect.stringContaining('key once') } });
      expect(found.get(sound)).toMatchObject({ ok: true });
      await expectOthersSound();
    },
  );

  if (kind === 'sqlite') {
    test('[HASH4, FAULT2] a blob in an unknown encoding is found at its event', async () => {
      await edit('blobs', `encoding = ${unsafe}`, 'true');
      expect((await verifyAll()).get(damaged)).toMatchObject({ ok: false, bad: { seq: 3 } });
    });
  }

  describe('session numbers that no release writes', () => {
    const numbers = [
      ...['0', '-1', unsafe, greatest].map((number) => `seq = ${number}`),
      ...['-1', greatest].flatMap((number) => [`at = ${number}`, `epoch = ${number}`]),
    ];
    test.each(numbers)(
      "[FAULT1, FAULT2, HASH4] %s is reported as STORE_CORRUPT with the session's id, and affects no other session",
      async (change) => {
        await editSession(change);
        const corrupt = { code: 'STORE_CORRUPT', details: { session: damaged } };
        await expect((await restarted()).get(damaged)).rejects.toMatchObject(corrupt);
        await expect(Array.fromAsync(runtime.sessions.export([damaged]))).rejects.toMatchObject(corrupt);
        expect((await verifyAll()).get(damaged)).toMatchObject({
          ok: false,
          error: { code: 'STORE_CORRUPT', message: expect.stringContaining(damaged) },
        });
        for (const command of ['show', 'log', 'close']) {
          expect(await perdure(command, damaged)).toMatchObject({
            code: 1,
            err: expect.stringContaining('STORE_CORRUPT'),
          });
        }
        expect(await perdure('tree', fork)).toMatchObject({ code: 0, out: expect.stringContaining(damaged) });
        await expectOthersSound();
      },
    );

    test.each(['seq = 0', 'seq = -1', `at = ${unsafe}`, 'at = -1'])(
      '[QRY4] a repair restores a row with %s from the log',
      async (change) => {
        await editSession(change);
        await (await restarted()).rebuildProjections();
        expect((await verifyAll()).get(damaged)).toMatchObject({ ok: true });
        await (await (await restarted()).get(damaged)).append({ role: 'user', content: 'on' });
      },
    );

    test.each([unsafe, greatest, '0', '-1'])(
      '[FAULT1, FAULT2] forked_at %s is reported as STORE_CORRUPT',
      async (number) => {
        await editSession(`forked_at = ${number}`, fork);
        expect((await verifyAll()).get(fork)).toMatchObject({ error: { code: 'STORE_CORRUPT' } });
        await (await restarted()).rebuildProjections();
        expect((await verifyAll()).get(damaged)).toMatchObject({ ok: true });
        await expectOthersSound();
      },
    );
  });

  describe('a session whose listing position was changed', () => {
    const places = [
      `updated_at = ${unsafe}`,
      `updated_at = ${greatest}`,
      'updated_at = -1',
      'updated_at = -9007199254740993',
      `summary = replace(summary, '"id":"', '"id":"x')`,
    ];
    test.each(places)('[HASH4, HASH7, FAULT2] is found by verify and still listed: %s', async (change) => {
      await editSession(change);
      await editEvent(4, 'turn = 7');
      const found = await verifyAll();
      expect([...found.keys()].sort()).toEqual([damaged, fork, sound].sort());
      expect(found.get(damaged)).toMatchObject({ ok: false, bad: { seq: 4 } });
      await expectOthersSound();
      const { sessions } = runtime;
      const page = await sessions.list({ limit: 1 });
      if (page.cursor) await sessions.list({ limit: 1, cursor: page.cursor });
    });

    test('[HASH7, FOLD5] pages continue from the position in its row, and skip no session', async () => {
      const listed = async (): Promise<readonly string[]> => {
        const found: string[] = [];
        for (let cursor: string | undefined; ; ) {
          const page = await runtime.sessions.list({ limit: 1, ...(cursor && { cursor }) });
          found.push(...page.sessions.map(({ id }) => id));
          if (!page.cursor) return found;
          cursor = page.cursor;
        }
      };
      for (const time of [unsafe!, '-5']) {
        await editSession(`updated_at = ${time}`);
        expect([...(await listed())].sort()).toEqual([damaged, fork, sound].sort());
      }
    });
  });

  test('[HASH4, CLIENT8] verify through a server finds and names the same damage', async () => {
    await editSession(`updated_at = ${unsafe}, seq = ${greatest}, at = ${greatest}`);
    await editSession(`summary = 'zzz', at = ${greatest}, seq = ${greatest}`, fork);
    const { server, keys } = await startTestServer({}, { store: place.address }, { hasWorker: false });
    const afar = (...args: string[]) =>
      callCli([...args, '--json', '--server', server.url], { env: { PERDURE_KEY: keys.admin } });
    const { code, out } = await afar('verify', '--all');
    expect({ code, ...JSON.parse(out) }).toEqual({ code: 1, sessions: [...(await verifyAll()).values()] });
    expect(JSON.parse((await afar('ls')).out).sessions).toHaveLength(3);
  });

  describe('a lineage that loops back to itself', () => {
    const circles = {
      'through its fork': () => `parent = '${fork}', forked_at = 3`,
      'to itself': () => `parent = '${damaged}', forked_at = 3`,
    };
    test.each(Object.entries(circles))(
      '[FAULT1, FAULT2] a loop %s is reported as STORE_CORRUPT immediately',
      async (_, change) => {
        await editSession(change());
        const sessions = await restarted();
        const own = await sessions.get(damaged);
        const corrupt = {
          code: 'STORE_CORRUPT',
          message: expect.stringContaining(`${damaged} is its own ancestor`),
          details: { session: damaged },
        };
        await expect(Array.fromAsync(own.export())).rejects.toMatchObject(corrupt);
        await expect(own.tree()).rejects.toMatchObject(corrupt);
        await expect(own.transcript()).rejects.toMatchObject(corrupt);
        await expect(own.append({ role: 'user', content: 'on' })).rejects.toMatchObject(corrupt);
        await expect(own.fork()).rejects.toMatchObject(corrupt);
        const found = await verifyAll();
        for (const id of [damaged, fork]) expect(found.get(id)).toMatchObject({ error: { code: 'STORE_CORRUPT' } });
        expect(found.get(sound)).toMatchObject({ ok: true });
        await sessions.rebuildProjections();
        await expectOthersSound();
      },
    );

    test('[FAULT1] a missing parent is reported, and the rest of the family stays readable', async () => {
      await editSession(`parent = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a'`, fork);
      const sessions = await restarted();
      await expect((await sessions.get(fork)).tree()).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
      expect(await (await sessions.get(damaged)).tree()).toMatchObject({ summary: { id: damaged }, forks: [] });
    });
  });

  test("[FAULT2, FORK1] a fork with an unreadable summary is marked as such in its family's tree", async () => {
    await editSession(`summary = 'zzz'`, fork);
    const sessions = await restarted();
    expect(await (await sessions.get(damaged)).tree()).toMatchObject({
      summary: { id: damaged },
      forks: [{ summary: { id: fork, title: expect.stringContaining('repair --projections') } }],
    });
    expect(await perdure('tree', damaged)).toMatchObject({ code: 0, out: expect.stringContaining('(unreadable') });
    expect((await verifyAll()).get(fork)).toMatchObject({ error: { code: 'STORE_CORRUPT' } });
    expect((await verifyAll()).get(damaged)).toMatchObject({ ok: true });
  });

  test('[FAULT2, QRY2] commits are found across the workspace even when one session is damaged', async () => {
    for (const id of [damaged, sound]) {
      await (await runtime.sessions.get(id)).commit((draft) => Object.assign(draft.facts, { port: 8080 }));
    }
    await editSession(`summary = 'zzz'`);
    const found = (await (await restarted()).commits({ path: '/facts/port' })).commits;
    expect(new Set(found.map(({ session }) => session))).toEqual(new Set([damaged, sound]));
  });
});
