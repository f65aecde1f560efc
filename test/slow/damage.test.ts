import { createHash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { connect } from '../../src/client/index.ts';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { defineAgent, defineScript, isPerdureError, openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

/** Each change makes event 6, which has a payload of its own blob, unreadable or different from what was written. */
const changes = {
  'payload bytes': { sql: `update EVENTS set payload = WRONG, encoding = 0 where session = 'SES' and seq = 6` },
  'a header': { sql: `update EVENTS set at = at + 1 where session = 'SES' and seq = 6`, isReadable: true },
  'a hash': { sql: `update EVENTS set hash = salt where session = 'SES' and seq = 6`, isReadable: true },
  'a deleted row': { sql: `delete from EVENTS where session = 'SES' and seq = 6` },
  'a lost blob': { sql: 'delete from PREFIXblobs' },
} as const satisfies Record<string, { sql: string; isReadable?: true }>;

describe.each(storeKinds)('a damaged event on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  beforeEach(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address });
  });
  afterEach(async () => {
    await runtime.close();
    await place.remove();
  });

  const wrong = kind === 'sqlite' ? `x'ff00'` : `'\\xff00'::bytea`;
  const edit = (sql: string, session = '') =>
    place.edit((events, prefix) =>
      sql.replace('EVENTS', events).replace('PREFIX', prefix).replace('WRONG', wrong).replace('SES', session),
    );
  /** All payloads, salts, hashes and blobs. The row of a session has hashes too, which each append replaces. */
  const storedBytes = async (): Promise<readonly string[]> =>
    (await place.values(['events', 'blobs'])).flatMap((value) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : [],
    );
  /** Opens the store as a new process would, without caches. */
  const restarted = async (id: string): Promise<Session> => {
    const again = await openRuntime({ store: place.address });
    onTestFinished(() => again.close());
    return again.sessions.get(id);
  };
  /** Three turns. Event 6 is the large answer of turn 2, and event 4 commits a fact. */
  const talk = async (): Promise<Session> => {
    const session = await runtime.sessions.open({ title: 'talk' });
    await session.append([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
    ]);
    await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }));
    await session.append({ role: 'user', content: 'two' });
    await session.append({ role: 'assistant', content: `second ${Math.random()}`.repeat(2000) });
    await session.append([
      { role: 'user', content: 'three' },
      { role: 'assistant', content: 'third' },
    ]);
    return session;
  };
  const damaged = async (change: keyof typeof changes): Promise<Session> => {
    const { id } = await talk();
    await edit(changes[change].sql, id);
    return restarted(id);
  };

  test('[DMG1, DMG2, PLACE1] an attempt that was left behind before the damage stays readable', async () => {
    const session = await runtime.sessions.open();
    await session.append([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
    ]);
    await session.retry({ turn: 1 });
    await session.append({ role: 'assistant', content: 'second' });
    const [broken] = await session.append({ role: 'user', content: 'two' });
    await edit(
      `update EVENTS set payload = WRONG, encoding = 0 where session = 'SES' and seq = ${broken!.seq}`,
      session.id,
    );
    const reader = await restarted(session.id);
    for (const [index, answer] of ['first', 'second'].entries()) {
      const { entries } = await reader.transcript({ at: { turn: 1, attempt: index + 1 } });
      expect(entries.at(-1)!.message.content).toMatchObject([{ text: answer }]);
    }
    const unknown = reader.transcript({ at: { turn: 1, attempt: 3 } });
    await expect(unknown).rejects.toMatchObject({ code: 'EVENT_DAMAGED' });
  });

  const kinds = Object.keys(changes) as (keyof typeof changes)[];

  describe.each(kinds)('%s', (change) => {
    const isReadable = 'isReadable' in changes[change];

    test('[DMG1, DMG2] leaves every point before it readable', async () => {
      const session = await damaged(change);
      expect((await session.transcript({ at: { seq: 5 } })).entries.map(({ seq }) => seq)).toEqual([2, 3, 5]);
      expect((await session.transcript({ at: { turn: 1 } })).entries).toHaveLength(2);
      expect(await session.state({ at: { turn: 1 } })).toMatchObject({ facts: { port: 8080 } });
      expect((await session.context({ at: { seq: 5 } })).messages).toHaveLength(3);
      expect(await session.diff({ seq: 3 }, { turn: 1 })).toMatchObject({ facts: [{ id: 'port' }] });
      expect(await Array.fromAsync(session.events({ at: { seq: 5 } }))).toHaveLength(5);
      const fork = await session.fork({ at: { turn: 1 } });
      expect(await fork.verify()).toMatchObject({ ok: true, events: 5 });
      if (isReadable) return;
      await expect(session.transcript()).rejects.toMatchObject({ code: 'EVENT_DAMAGED', details: { seq: 6 } });
      await expect(session.transcript({ at: { turn: 2 } })).rejects.toMatchObject({ code: 'EVENT_DAMAGED' });
    });

    test('[DMG3] is described with everything that is lost', async () => {
      const session = await damaged(change);
      const { at } = (await Array.fromAsync(session.events({ at: { seq: 5 } }))).at(-1)!;
      expect(await session.damage()).toMatchObject({
        session: session.id,
        seq: 6,
        reason: expect.any(String),
        good: 5,
        to: 8,
        missing: change === 'a deleted row' ? 1 : 0,
        types: { 'message.appended': change === 'a deleted row' ? 2 : 3 },
        turns: { from: change === 'a deleted row' ? 3 : 2, to: 3 },
        times: { from: expect.any(Number) },
        events: [
          change === 'a deleted row' ? { seq: 6 } : { seq: 6, type: 'message.appended', turn: 2 },
          { seq: 7, type: 'message.appended', turn: 3 },
          { seq: 8 },
        ],
        moreEvents: 0,
        calls: [],
        moreCalls: 0,
      });
      expect((await session.damage())!.times!.from).toBeGreaterThanOrEqual(at);
      expect(await (await talk()).damage()).toBeUndefined();
    });

    test('[DMG5, DMG6, DMG9] a repair continues before it as a fork, and quarantines the session', async () => {
      const session = await damaged(change);
      const stored = await storedBytes();
      const { damage, fork } = await session.repair();
      expect(damage).toEqual(await session.damage());
      expect((await fork!.transcript()).entries).toMatchObject([{ seq: 2 }, { seq: 3 }, { seq: 5 }]);
      expect(await fork!.verify()).toMatchObject({ ok: true, events: 6 });
      expect(await fork!.summary()).toMatchObject({
        parent: session.id,
        forkedAt: 5,
        title: 'talk',
        lost: { session: session.id, from: 6, to: 8 },
      });
      const [first] = await Array.fromAsync(fork!.events({ after: 5 }));
      expect(first).toMatchObject({ type: 'session.forked', payload: { lost: damage } });
      await fork!.resume();
      await fork!.append({ role: 'assistant', content: 'again' });
      const kept = new Set(await storedBytes());
      for (const bytes of stored) expect(kept).toContain(bytes);

      const again = await restarted(session.id);
      expect(await again.summary()).toMatchObject({ damaged: { seq: 6, at: 9 }, seq: 9, messages: 3, lastTurn: 3 });
      const { sessions } = await runtime.sessions.list();
      expect(sessions.find(({ id }) => id === session.id)).toMatchObject({ damaged: { seq: 6 } });
      expect((await again.transcript()).entries.map(({ seq }) => seq)).toEqual([2, 3, 5]);
      expect(await again.state()).toMatchObject({ facts: { port: 8080 } });
      expect(await again.verify()).toMatchObject({ ok: false, bad: { seq: 6 } });
      const rejected = { code: 'SESSION_DAMAGED', details: { seq: 6 }, message: expect.stringContaining('repair') };
      await expect(again.append({ role: 'user', content: 'more' })).rejects.toMatchObject(rejected);
      await expect(again.commit((draft) => Object.assign(draft.facts, { a: 1 }))).rejects.toMatchObject(rejected);
      await expect(runtime.sessions.get(session.id).then((own) => own.pause())).rejects.toMatchObject(rejected);

      const repeated = await again.repair();
      expect({ ...repeated, fork: repeated.fork?.id }).toEqual({ damage, fork: fork!.id });
      expect(await again.summary()).toMatchObject({ seq: 9 });
    });

    test('[DMG7] close, archive, unarchive and rewind work, and quarantine a session that cannot be read', async () => {
      const session = await damaged(change);
      await session.close({ reason: 'damaged' });
      expect(await session.summary()).toMatchObject({ status: 'closed', ...(!isReadable && { damaged: { seq: 6 } }) });
      await session.archive();
      expect(await (await restarted(session.id)).summary()).toMatchObject({ status: 'archived' });
      await session.unarchive();

      const other = await damaged(change);
      await other.rewind({ to: { turn: 1 }, reason: 'before the damage' });
      const after = await restarted(other.id);
      expect((await after.transcript()).entries).toHaveLength(2);
      if (isReadable) return;
      await expect(after.rewind({ to: { seq: 7 } })).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
      expect(await (await after.fork()).summary()).toMatchObject({ forkedAt: 4, lost: { from: 6, to: 8 } });
    });

    test('[DMG11] an export contains the good events and a fork, and changes nothing', async () => {
      const session = await damaged(change);
      const bundle = await Array.fromAsync(session.export());
      expect((await session.summary()).seq).toBe(8);
      const other = runtime.as({ workspace: 'elsewhere', member: 'ann', role: 'admin' });
      const { sessions } = await other.sessions.import(ReadableStream.from(bundle));
      expect(sessions).toEqual([
        { session: session.id, added: 5 },
        { session: expect.any(String), added: 1 },
      ]);
      const fork = await other.sessions.get(sessions[1]!.session);
      expect((await fork.transcript()).entries).toHaveLength(3);
      expect(await fork.verify()).toMatchObject({ ok: true, events: 6 });
      expect(await fork.summary()).toMatchObject({ forkedAt: 5, lost: { session: session.id, from: 6, to: 8 } });
      await session.repair();
      expect(await Array.fromAsync((await restarted(session.id)).export())).not.toEqual([]);
    });

    test('[DMG10] a fork without a point continues from the last good event', async () => {
      const session = await damaged(change);
      if (isReadable) await session.repair();
      const fork = await session.fork({ title: 'on' });
      expect(await fork.summary()).toMatchObject({ forkedAt: 5, title: 'on', lost: { from: 6, to: 8 } });
      expect(await fork.verify()).toMatchObject({ ok: true });
      await session.repair();
      await expect(session.fork({ at: { seq: 7 } })).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
    });
  });

  test('[DMG13] an inherited event is treated in the same way', async () => {
    const parent = await talk();
    const { id } = await parent.fork();
    await (await runtime.sessions.get(id)).append({ role: 'user', content: 'four' });
    await edit(changes['payload bytes'].sql, parent.id);
    const child = await restarted(id);
    await expect(child.transcript()).rejects.toMatchObject({ code: 'EVENT_DAMAGED', details: { seq: 6 } });
    const { damage, fork } = await child.repair();
    expect(damage).toMatchObject({ session: id, seq: 6, good: 5, to: 10 });
    expect(await fork!.summary()).toMatchObject({ parent: parent.id, forkedAt: 5, lost: { session: id } });
    expect(await fork!.verify()).toMatchObject({ ok: true });
    expect((await (await restarted(id)).transcript()).entries).toHaveLength(3);
    expect((await parent.summary()).damaged).toBeUndefined();
  });

  test('[DMG9] the first event of a log leaves nothing to continue', async () => {
    const { id } = await talk();
    await edit(changes['payload bytes'].sql.replace('seq = 6', 'seq = 1'), id);
    const session = await restarted(id);
    await expect(session.repair()).rejects.toMatchObject({ code: 'EVENT_DAMAGED', details: { seq: 1 } });
    await session.close();
    expect(await (await restarted(id)).summary()).toMatchObject({ status: 'closed', damaged: { seq: 1 } });
  });

  test('[DMG6] the store rejects a writer that has not seen the quarantine', async () => {
    const writer = await talk();
    await edit(changes['payload bytes'].sql, writer.id);
    await (await restarted(writer.id)).repair();
    await expect(writer.append({ role: 'user', content: 'late' })).rejects.toSatisfy((error) =>
      isPerdureError(error, 'SESSION_DAMAGED'),
    );
  });

  test('[DMG8] a worker quarantines a session that it cannot read, warns once and has no more work in it', async () => {
    const agent = defineAgent({
      name: 'tester',
      version: 1,
      model: defineScript({ name: 'done', steps: [{ text: 'Done.' }] }),
    });
    const warnings: unknown[] = [];
    const open = async () => {
      const opened = await openRuntime({
        store: place.address,
        agents: [agent],
        worker: false,
        onWarning: (problem) => warnings.push(problem),
      });
      onTestFinished(() => opened.close());
      return opened;
    };
    const before = await open();
    const session = await before.sessions.open({ agent });
    const { id } = await session.send('Go');
    const { seq } = await session.summary();
    await edit(changes['payload bytes'].sql.replace('seq = 6', `seq = ${seq - 1}`), session.id);
    const { sessions, worker } = await open();
    await worker().runUntilIdle();
    expect(warnings).toMatchObject([{ code: 'EVENT_DAMAGED' }]);
    expect(await (await sessions.get(session.id)).summary()).toMatchObject({ damaged: { seq: seq - 1 } });
    await worker().runUntilIdle();
    expect(warnings).toHaveLength(1);
    const run = await (await sessions.get(session.id)).run(id);
    expect(await run.status()).toMatchObject({ status: 'failed', error: { code: 'EVENT_DAMAGED' } });
  });

  test('[DMG8] the run of a quarantined session ends as failed for its reader', async () => {
    const agent = defineAgent({
      name: 'absent',
      version: 1,
      model: defineScript({ name: 'none', steps: [{ text: '.' }] }),
    });
    const { sessions, close } = await openRuntime({ store: place.address, agents: [agent], worker: false });
    onTestFinished(() => close());
    const session = await sessions.open({ agent });
    await session.append({ role: 'user', content: 'before' });
    const { seq } = await session.summary();
    const run = await session.send('Go');
    await edit(changes['a header'].sql.replace('seq = 6', `seq = ${seq}`), session.id);
    const ended = run.waitForEnd();
    await (await restarted(session.id)).repair();
    expect(await ended).toMatchObject({ status: 'failed', error: { code: 'EVENT_DAMAGED' } });
  });

  test('[DMG12, DMG14] the context of the fork says what is lost, and which calls happened there', async () => {
    const session = await talk();
    const { refund } = await session.track({ refund: async (input: { order: number }) => `refunded ${input.order}` });
    await refund({ order: 7 });
    const { seq } = (await session.toolCalls()).calls[0]!;
    await edit(changes['payload bytes'].sql.replace('seq = 6', `seq = ${seq}`), session.id);
    const { damage, fork } = await (await restarted(session.id)).repair();
    expect(damage).toMatchObject({ calls: [{ tool: 'refund', status: 'ok', seq }], moreCalls: 0 });
    const { system } = await fork!.context();
    expect(system).toContain(`events ${seq} to ${damage!.to}`);
    expect(system).toMatch(/not undone: refund \(ok, turn 3/);
    await fork!.append({ role: 'user', content: 'more' });
    expect((await (await restarted(fork!.id)).context()).system).toContain('refund (ok');
    const again = await (await fork!.fork()).context();
    expect(again.system).toContain('refund (ok');
  });

  test('[DMG14] a call that was running at the last good event and ended in the lost part is named', async () => {
    const session = await talk();
    const { refund } = await session.track({ refund: async () => 'refunded' });
    await refund();
    const { endedSeq } = (await session.toolCalls()).calls[0]!;
    await edit(changes['payload bytes'].sql.replace('seq = 6', `seq = ${endedSeq}`), session.id);
    const damage = await (await restarted(session.id)).damage();
    expect(damage).toMatchObject({ seq: endedSeq, calls: [{ tool: 'refund', status: 'ok', seq: endedSeq! - 1 }] });
  });

  test('[DMG3, DMG11] a lost file ends the good part before the first event that names it', async () => {
    const session = await talk();
    await session.files.write('notes.txt', 'kept');
    const { seq } = await session.summary();
    await session.files.write('notes.txt', 'lost');
    const lost = createHash('sha256').update('lost').digest();
    const hash = kind === 'sqlite' ? `x'${lost.toString('hex')}'` : `'\\x${lost.toString('hex')}'::bytea`;
    await place.edit((_, prefix) => `delete from ${prefix}blobs where hash = ${hash}`);
    const again = await restarted(session.id);
    const { fork, damage } = await again.repair();
    expect(damage).toMatchObject({ good: seq, reason: expect.stringContaining('notes.txt') });
    expect(Buffer.from(await fork!.files.read('notes.txt')).toString()).toBe('kept');
    const other = runtime.as({ workspace: 'elsewhere', member: 'ann', role: 'admin' });
    expect(await other.sessions.import(again.export())).toMatchObject({ sessions: [{ added: seq }, { added: 1 }] });
  });

  test('[DMG9] a repair that crashed before its fork leaves a quarantined session, and the next one finishes it', async () => {
    const { id } = await damaged('payload bytes');
    const store = await openStoreAt(place.address);
    const append: RuntimeStore['append'] = async (request) => {
      if (request.creates) throw new Error('crashed');
      return store.append(request);
    };
    const { sessions } = await openRuntime({ store: overrideStore<RuntimeStore>(store, { append }) });
    onTestFinished(() => store.close());
    await expect((await sessions.get(id)).repair()).rejects.toThrow('crashed');
    const session = await restarted(id);
    expect(await session.summary()).toMatchObject({ damaged: { seq: 6, at: 9 } });
    const { fork } = await session.repair();
    expect(await fork!.summary()).toMatchObject({ forkedAt: 5, lost: { from: 6, to: 8 } });
    expect((await session.repair()).fork!.id).toBe(fork!.id);
  });

  test('[DMG3, DMG9, CLIENT2] a client gets the same damage and the same repair', async () => {
    const { id } = await damaged('a deleted row');
    const { server, keys } = await startTestServer({}, { store: place.address }, { hasWorker: false });
    const client = connect({ url: server.url, key: keys.admin });
    const session = await client.sessions.get(id);
    const damage = await session.damage();
    expect(damage).toEqual(await (await restarted(id)).damage());
    await expect(session.transcript()).rejects.toMatchObject({ code: 'EVENT_DAMAGED' });
    expect((await session.transcript({ at: { seq: 5 } })).entries).toHaveLength(3);
    const repaired = await session.repair();
    expect(repaired.damage).toEqual(damage);
    expect(await repaired.fork!.summary()).toMatchObject({ lost: { session: id, from: 6, to: 8 } });
    await expect(session.append({ role: 'user', content: 'x' })).rejects.toMatchObject({ code: 'SESSION_DAMAGED' });
    expect((await session.repair()).fork!.id).toBe(repaired.fork!.id);
    expect(await (await client.sessions.get(repaired.fork!.id)).damage()).toBeUndefined();
  });

  test('[DMG16] a quarantined session whose log is whole again continues with all its events', async () => {
    const session = await damaged('a header');
    await session.repair();
    await edit(changes['a header'].sql.replace('at + 1', 'at - 1'), session.id);
    const mended = await restarted(session.id);
    expect(await mended.repair()).toEqual({});
    const fork = await mended.fork();
    expect(await fork.summary()).toMatchObject({ forkedAt: 8, messages: 6 });
    expect((await fork.summary()).lost).toBeUndefined();
    const other = runtime.as({ workspace: 'elsewhere', member: 'ann', role: 'admin' });
    expect(await other.sessions.import(mended.export())).toEqual({ sessions: [{ session: session.id, added: 8 }] });
    expect(await fork.verify()).toMatchObject({ ok: true });
  });

  test('[DMG5] a rebuild of the projections keeps the quarantine', async () => {
    const session = await damaged('payload bytes');
    await session.repair();
    const summary = await session.summary();
    await runtime.sessions.rebuildProjections();
    const again = await restarted(session.id);
    expect(await again.summary()).toEqual(summary);
    expect((await again.transcript()).entries).toHaveLength(3);
  });
});
