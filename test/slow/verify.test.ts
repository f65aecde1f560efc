import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { foldVersion } from '../../src/core/session/fold.ts';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import type { WorkspaceId } from '../../src/schema/ids.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('verify on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  let places = 0;
  const talk = async (sessions = runtime.sessions) => {
    const session = await sessions.open();
    for (let turn = 1; turn <= 5; turn++) {
      await session.append([
        { role: 'user', content: `ask ${turn}` },
        { role: 'assistant', content: `reply ${turn} `.repeat(turn === 5 ? 5000 : 100) },
      ]);
    }
    return session;
  };
  const edit = (session: Session, seq: number, change: string) =>
    place.edit(
      (events) =>
        `update ${events} set ${change.replaceAll('EVENTS', events)} where session = '${session.id}' and seq = ${seq}`,
    );
  const of = (session: Session, column: string, seq: number) =>
    `${column} = (select other.${column} from EVENTS other where other.session = '${session.id}' and other.seq = ${seq})`;

  test('[HASH4, HASH8] every kind of manual change is found at its event', async () => {
    const changes: Record<string, (session: Session) => [seq: number, change: string]> = {
      'another payload': (session) => [4, `${of(session, 'payload', 6)}, ${of(session, 'encoding', 6)}`],
      'a replaced spilled payload': (session) => [11, `${of(session, 'payload', 3)}, ${of(session, 'encoding', 3)}`],
      'another salt': (session) => [4, of(session, 'salt', 6)],
      'no salt': () => [4, 'salt = null'],
      'another hash': (session) => [4, of(session, 'hash', 6)],
      'another time': () => [4, 'at = at + 1'],
      'another turn': () => [4, 'turn = 1'],
      'another author': () => [4, "actor = 'member:eve'"],
      'another type': () => [4, "type = 'session.closed'"],
      'another version': () => [4, 'version = 2'],
      'a run': () => [4, "run = 'run_01jd3v8m9k5x7q2w4e6r8t0y1a'"],
      'an unknown encoding': () => [4, 'encoding = 9'],
      'bytes declared as compressed': () => [2, 'encoding = 1'],
      'the first event': () => [1, 'at = at - 1'],
      'the last event': () => [11, 'at = at + 1'],
    };
    for (const [what, change] of Object.entries(changes)) {
      const session = await talk();
      expect(await session.verify()).toMatchObject({ ok: true, events: 11 });
      const [seq, sql] = change(session);
      await edit(session, seq, sql);
      expect({ what, ...(await session.verify()) }).toMatchObject({ what, ok: false, bad: { seq }, events: seq - 1 });
    }
  });

  const besideTheLog: Record<string, { change: (id: string) => readonly [table: string, sql: string]; seq: number }> = {
    'a head that hides the tail': {
      change: (id) => [
        'sessions',
        `seq = 4, hash = (select e.hash from EVENTS e where e.session = '${id}' and e.seq = 4)`,
      ],
      seq: 5,
    },
    'a wrong time of the head': { change: () => ['sessions', 'at = at + 1000'], seq: 11 },
    'a wrong last turn': {
      change: () => ['sessions', `summary = replace(summary, '"lastTurn":5', '"lastTurn":2')`],
      seq: 11,
    },
    'another status': { change: () => ['sessions', `summary = replace(summary, 'active', 'closed')`], seq: 11 },
    'a wrong status in listings': { change: () => ['sessions', `status = 'paused'`], seq: 11 },
    'a wrong change time in listings': { change: () => ['sessions', 'updated_at = 5'], seq: 11 },
    'a wrong place in listings': { change: () => ['session_values', 'span = 0'], seq: 11 },
    'a wrong value in listings': {
      change: () => ['session_values', `value = 'closed' where name = 'status' and`],
      seq: 11,
    },
    'a turn without its mark': { change: () => ['events', 'opens_turn = not opens_turn where seq = 6 and'], seq: 6 },
  };
  test.each(Object.entries(besideTheLog))(
    '[HASH4, HASH7, FOLD5, QRY4, QRY11] %s is found, and repaired from the log',
    async (_, { change, seq }) => {
      const { sessions } = runtime.as({ workspace: `beside-${++places}`, member: 'ann', role: 'admin' });
      const session = await talk(sessions);
      const sound = await session.verify();
      const summary = await session.summary();
      const [table, sql] = change(session.id);
      const column = table === 'sessions' ? 'id' : 'session';
      const where = sql.endsWith(' and') ? sql : `${sql} where`;
      await place.edit(
        (events, prefix) =>
          `update ${prefix}${table} set ${where.replace('EVENTS', events)} ${column} = '${session.id}'`,
      );
      expect(await session.verify()).toMatchObject({ ok: false, bad: { seq } });
      await sessions.rebuildProjections();
      expect(await session.verify()).toEqual(sound);
      expect(await session.summary()).toEqual(summary);
      await session.append({ role: 'user', content: 'goes on' });
      expect(await session.verify()).toMatchObject({ ok: true, events: 12 });
    },
  );

  test('[HASH4] a fork whose row names another point, parent or family is found', async () => {
    const changes = {
      forked_at: 'forked_at = 3',
      parent: `parent = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a'`,
      root: `root = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a'`,
    };
    for (const change of Object.values(changes)) {
      const fork = await (await talk()).fork({ at: { seq: 5 } });
      await place.edit((_, prefix) => `update ${prefix}sessions set ${change} where id = '${fork.id}'`);
      const restarted = await openRuntime({ store: place.address });
      expect({ change, ...(await (await restarted.sessions.get(fork.id)).verify()) }).toMatchObject({
        change,
        ok: false,
      });
      await restarted.close();
    }
  });

  test.each(['seq = 99', 'seq = 1', 'count = 9'])('[HASH7] a key whose row has %s is found', async (change) => {
    const fork = await (await talk()).fork({ at: { seq: 5 } });
    await fork.append({ role: 'user', content: 'on' }, { idempotencyKey: 'once' });
    expect(await fork.verify()).toMatchObject({ ok: true });
    await place.edit((_, prefix) => `update ${prefix}keys set ${change} where session = '${fork.id}'`);
    expect(await fork.verify()).toMatchObject({ ok: false, bad: { reason: expect.stringContaining('key once') } });
  });

  /** Makes a session whose newest snapshot holds a fact, in a store that no process has open. */
  const withSnapshots = async (workspace: string) => {
    const often = await openRuntime({ store: place.address, snapshots: { everyEvents: 4, everyBytes: 1e9 } });
    const session = await talk(often.as({ workspace, member: 'ann', role: 'admin' }).sessions);
    await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }));
    for (let more = 0; more < 3; more++) await session.append({ role: 'user', content: 'more' });
    await often.close();
    return session.id;
  };

  test('[FOLD1] a tampered snapshot is ignored', async () => {
    const id = await withSnapshots('changed');
    const [right, wrong] = ['{"port":8080}', '{"pont":8080}'].map((text) => Buffer.from(text).toString('base64'));
    await place.edit(
      (_, prefix) =>
        `update ${prefix}snapshots set manifest = replace(manifest, '${right}', '${wrong}') where session = '${id}'`,
    );
    const restarted = await openRuntime({ store: place.address });
    const session = await restarted.as({ workspace: 'changed', member: 'ann', role: 'admin' }).sessions.get(id);
    await expect(session.commit([{ op: 'remove', path: '/facts/pont' }])).rejects.toMatchObject({
      code: 'STATE_INVALID',
    });
    expect((await session.state()).facts).toEqual({ port: 8080 });
    expect(await session.verify()).toMatchObject({ ok: true, events: 15 });
    await restarted.close();
  });

  test('[HASH7, FOLD1, QRY11] a snapshot that contradicts the log is found, and dropped by a repair', async () => {
    const id = await withSnapshots('snapshots');
    const restarted = await openRuntime({ store: place.address });
    const again = restarted.as({ workspace: 'snapshots', member: 'ann', role: 'admin' }).sessions;
    const broken = await again.get(id);
    expect(await broken.verify()).toMatchObject({ ok: true, events: 15 });
    const store = await openStoreAt(place.address);
    const key = { workspace: 'snapshots' as WorkspaceId, session: id };
    const snapshot = (await store.snapshot(key, { seq: 15, foldVersion }))!;
    const parts = { ...snapshot.parts, 'state/facts': Buffer.from('{"port":6666}') };
    await store.putSnapshot(key, { ...snapshot, parts });
    await store.close();
    expect((await broken.state()).facts).toEqual({ port: 6666 });
    expect(await broken.verify()).toMatchObject({
      ok: false,
      bad: { seq: 13, reason: expect.stringContaining('snapshot') },
    });
    await again.rebuildProjections();
    expect((await broken.state()).facts).toEqual({ port: 8080 });
    expect(await broken.verify()).toMatchObject({ ok: true, events: 15 });
    await restarted.close();
  });

  test('[FAULT1, FOLD1] a malformed snapshot is skipped, because it is only a cache', async () => {
    const often = await openRuntime({ store: place.address, snapshots: { everyEvents: 4, everyBytes: 1e9 } });
    const { id } = await talk(often.sessions);
    await often.close();
    const none = ['{', 'null', '5', '[]', '[1]', '"x"', '{}', '{"session":null}', '{"session":{}}'];
    for (const manifest of [
      ...none,
      '{"session":{"inline":5}}',
      '{"session":{"blob":"zz"}}',
      '{"session":{"ynline":""}}',
    ]) {
      await place.edit((_, prefix) => `update ${prefix}snapshots set manifest = '${manifest}' where session = '${id}'`);
      const restarted = await openRuntime({ store: place.address });
      const session = await restarted.sessions.get(id);
      await session.append({ role: 'user', content: manifest });
      expect({ manifest, ...(await session.verify()) }).toMatchObject({ manifest, ok: true });
      await restarted.close();
    }
  });

  test('[FAULT1, FAULT2] a row that disagrees with its events is reported as STORE_CORRUPT, and the other sessions stay usable', async () => {
    const [broken, sound] = [await talk(), await talk()];
    const setBack = (events: string, id: string) =>
      `seq = 4, hash = (select e.hash from ${events} e where e.session = '${id}' and e.seq = 4)`;
    await place.edit(
      (events, prefix) => `update ${prefix}sessions set ${setBack(events, broken.id)} where id = '${broken.id}'`,
    );
    const restarted = await openRuntime({ store: place.address });
    const [cut, fine] = [await restarted.sessions.get(broken.id), await restarted.sessions.get(sound.id)];
    const [refused, landed] = await Promise.allSettled([
      cut.append({ role: 'user', content: 'on' }),
      fine.append({ role: 'user', content: 'on' }),
    ]);
    expect(refused).toMatchObject({ status: 'rejected', reason: { code: 'STORE_CORRUPT' } });
    expect(landed.status).toBe('fulfilled');
    await restarted.close();
  });

  test('[QRY11] a repair does not hide that the end of a log is missing', async () => {
    const { sessions } = runtime.as({ workspace: 'cut', member: 'ann', role: 'admin' });
    const session = await talk(sessions);
    await place.edit((events) => `delete from ${events} where session = '${session.id}' and seq > 8`);
    await sessions.rebuildProjections();
    expect(await session.verify()).toMatchObject({ ok: false, bad: { seq: 9, reason: 'it is missing' } });
  });

  test('[HASH6] a removed event is found, in the middle and at the end', async () => {
    for (const seq of [1, 6, 11]) {
      const session = await talk();
      await place.edit(
        (events) => `delete from ${events} where session = '${session.id}' and seq >= ${seq} and seq <= ${seq}`,
      );
      expect(await session.verify()).toMatchObject({ ok: false, bad: { seq, reason: `it is missing` } });
    }
  });

  test('[HASH4] two swapped events are found at the first of them', async () => {
    const session = await talk();
    await edit(session, 4, 'seq = 100');
    await edit(session, 6, 'seq = 4');
    await edit(session, 100, 'seq = 6');
    expect(await session.verify()).toMatchObject({ ok: false, bad: { seq: 4 } });
  });

  test('[HASH4, FORK1] a change to an inherited event is found when the fork is verified too; a change after the fork point is not', async () => {
    const session = await talk();
    const early = await session.fork({ at: { turn: 1 } });
    const late = await session.fork();
    await edit(session, 5, 'at = at + 1');
    expect(await late.verify()).toMatchObject({ ok: false, bad: { seq: 5 } });
    expect(await early.verify()).toMatchObject({ ok: true });
  });

  test('[FAULT2] a damaged session is reported, and the other sessions stay usable', async () => {
    const damaged = await talk();
    const sound = await talk();
    await edit(damaged, 4, 'encoding = 9');
    await edit(damaged, 11, "type = 'session.invented'");
    const restarted = await openRuntime({ store: place.address });
    const broken = await restarted.sessions.get(damaged.id);
    await expect(broken.transcript({ at: { seq: 5 } })).rejects.toMatchObject({
      code: 'EVENT_DAMAGED',
      details: { seq: 4 },
      message: expect.stringContaining('perdure verify'),
    });
    await expect(broken.append({ role: 'user', content: 'on' })).rejects.toMatchObject({ code: 'EVENT_DAMAGED' });
    expect(await broken.damage()).toMatchObject({ seq: 4, good: 3, to: 11 });
    expect(await Array.fromAsync(broken.export())).not.toEqual([]);
    const fine = await restarted.sessions.get(sound.id);
    await fine.append({ role: 'user', content: 'still here' });
    expect(await fine.verify()).toMatchObject({ ok: true, events: 12 });
    expect((await restarted.sessions.list()).sessions.map(({ id }) => id)).toContain(damaged.id);
    await restarted.close();
  });

  test('[FAULT2, QRY4] a session with an unreadable summary is listed and reported, and its summary is rebuilt from the log', async () => {
    const { sessions } = runtime.as({ workspace: 'summaries', member: 'ann', role: 'admin' });
    const [broken, odd, sound] = [await sessions.open(), await sessions.open({ title: 'odd' }), await sessions.open()];
    const spoil = (id: string, summary: string) =>
      place.edit((_, prefix) => `update ${prefix}sessions set summary = '${summary}' where id = '${id}'`);
    await spoil(broken.id, 'no JSON');
    await spoil(odd.id, '{}');
    const restarted = await openRuntime({ store: place.address });
    const again = restarted.as({ workspace: 'summaries', member: 'ann', role: 'admin' }).sessions;
    const listed = (await again.list()).sessions;
    expect(new Set(listed.map(({ id }) => id))).toEqual(new Set([broken.id, odd.id, sound.id]));
    expect(listed.find(({ id }) => id === odd.id)?.title).toContain('repair --projections');
    for (const { id } of [broken, odd]) {
      await expect(again.get(id)).rejects.toMatchObject({
        code: 'STORE_CORRUPT',
        message: expect.stringContaining('repair'),
      });
    }
    await (await again.get(sound.id)).append({ role: 'user', content: 'on' });
    await again.rebuildProjections();
    expect(await (await again.get(odd.id)).summary()).toMatchObject({ title: 'odd', seq: 1 });
    await restarted.close();
  });

  test('[EV2] an event of a future release is rejected with the advice to upgrade', async () => {
    const session = await talk();
    await edit(session, 11, "type = 'session.invented'");
    const restarted = await openRuntime({ store: place.address });
    const events = (await restarted.sessions.get(session.id)).events({ after: 10 });
    await expect(events.next()).rejects.toMatchObject({
      code: 'EVENT_UNSUPPORTED',
      message: expect.stringContaining('upgrade'),
    });
    await restarted.close();
  });
});
