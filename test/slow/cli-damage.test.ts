import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRuntime, verifyBundle } from '../../src/index.ts';
import { callCli } from '../support/cli/call-cli.ts';
import { bundleBomb } from '../support/stores/bundle-bomb.ts';
import { madeBundle } from '../support/stores/made-bundle.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-damage-'));
});
afterEach(() => rm(folder, { recursive: true }));

describe.each(storeKinds)('commands on a damaged session on %s', (kind) => {
  let place: StorePlace;
  let id = '';
  beforeEach(async () => {
    place = await newStorePlace(kind);
    await using runtime = await openRuntime({ store: place.address });
    const session = await runtime.sessions.open({ title: 'refunds' });
    id = session.id;
    await session.append([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'first' },
    ]);
    await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }));
    await session.append({ role: 'user', content: 'two' });
    const { refund } = await session.track({ refund: async (input: { order: number }) => `refunded ${input.order}` });
    await refund({ order: 7 });
    const wrong = kind === 'sqlite' ? `x'ff00'` : `'\\xff00'::bytea`;
    await place.edit(
      (events) => `update ${events} set payload = ${wrong}, encoding = 0 where session = '${id}' and seq = 5`,
    );
  });
  afterEach(() => place.remove());
  const perdure = (...args: readonly string[]) =>
    callCli([...args, '--store', place.address], { columns: Number.POSITIVE_INFINITY });
  const json = async (...args: readonly string[]) => {
    const { code, out, err } = await perdure(...args, '--json');
    expect({ args, code, err }).toEqual({ args, code: 0, err: '' });
    return JSON.parse(out);
  };

  test('[DMG1, DMG2] show --at, state --at, log --at, diff and fork --at read what is before the damage', async () => {
    expect((await json('show', id, '--at', 'seq:4')).transcript).toHaveLength(2);
    expect((await json('show', id, '--at', '1')).transcript).toHaveLength(2);
    expect(await json('state', id, '--at', 'seq:4')).toMatchObject({ facts: { port: 8080 } });
    expect(await json('diff', id, 'seq:2', '1')).toMatchObject({ facts: [{ id: 'port' }] });
    expect(await json('fork', id, '--at', 'seq:3')).toMatchObject({ forkedAt: 3, leftBehind: [] });
    const whole = await perdure('show', id);
    expect(whole).toMatchObject({ code: 0 });
    expect(whole.out).toContain('event 5 of');
    expect(whole.out).toContain('first');
    expect(whole.out).toContain(`perdure repair ${id}`);
  });

  test('[DMG3, DMG4, DMG9, DMG14] repair says what is lost, names the calls, and continues as a fork', async () => {
    const dry = await perdure('repair', id, '--dry-run');
    expect(dry).toMatchObject({ code: 1, out: expect.stringContaining('lost: events 5 to') });
    expect((await json('ls')).sessions[0].damaged).toBeUndefined();
    const { damage, fork } = await json('repair', id);
    expect(damage).toMatchObject({ seq: 5, good: 4, calls: [{ tool: 'refund', status: 'ok' }] });
    expect(fork).toMatchObject({ parent: id, forkedAt: 4, lost: { session: id, from: 5 } });
    expect(await json('repair', id)).toEqual({ damage, fork });
    const { out } = await perdure('repair', id);
    expect(out).toMatch(/refund \S+ {2}ok {2}turn 2/);
    expect(out).toContain(`continued from event 4 as ${fork.id}`);
    expect((await perdure('ls')).out).toMatch(/active, damaged/);
    expect((await perdure('tree', id)).out).toMatch(/active, damaged/);
    expect((await perdure('show', fork.id)).out).toContain(`continues ${id}`);
    expect(await perdure('append', id, 'more')).toMatchObject({ code: 6, err: expect.stringContaining('repair') });
    expect(await perdure('verify', id)).toMatchObject({ code: 1, err: expect.stringContaining(`repair ${id}`) });
    expect(await perdure('verify', fork.id)).toMatchObject({ code: 0 });
    expect(await json('repair', fork.id)).toEqual({});
  });

  test('[DMG10, DMG11] fork and export continue from the last good event, and say what is lost', async () => {
    const forked = await perdure('fork', id);
    expect(forked).toMatchObject({ code: 0, err: expect.stringContaining('lost: events 5 to') });
    const file = join(folder, 'a.perdure');
    expect(await json('export', id, '-o', file)).toMatchObject({ damaged: [{ seq: 5, good: 4 }] });
    expect(await perdure('export', id, '-o', file, '--force')).toMatchObject({
      code: 0,
      err: expect.stringContaining('exported up to event 4'),
    });
    const elsewhere = ['--store', `sqlite:${join(folder, 'other.db')}`];
    const { code, out } = await callCli(['import', file, '--json', ...elsewhere]);
    expect(code).toBe(0);
    const [, { session }] = JSON.parse(out).sessions;
    const shown = await callCli(['show', session, '--json', ...elsewhere]);
    expect(JSON.parse(shown.out)).toMatchObject({ summary: { lost: { session: id } }, transcript: [{}, {}] });
    expect(await callCli(['verify', file])).toMatchObject({ code: 0 });
  });

  test('[DMG1, DMG7] close, archive and rewind, which first lists the calls beyond the point', async () => {
    const happened = { calls: [{ tool: 'refund', outcome: 'ok' }], more: 0 };
    expect(await json('happened', id, '--after', '1')).toMatchObject(happened);
    expect(await json('happened', id)).toEqual({ calls: [], more: 0 });
    expect(await json('rewind', id, '--to', '1', '--dry-run')).toMatchObject({ happened });
    expect(await json('rewind', id, '--to', 'seq:3')).toMatchObject({ messages: 2, damaged: { seq: 5 }, happened });
    expect((await perdure('close', id)).out).toContain('closed, damaged');
    expect(await json('archive', id)).toMatchObject({ status: 'archived' });
  });
});

describe('verify FILE', () => {
  const exported = async (): Promise<string> => {
    const store = `sqlite:${join(folder, 'p.db')}`;
    const { out } = await callCli(['open', '--json', '--store', store]);
    const { id } = JSON.parse(out);
    await callCli(['append', id, 'hello', '--store', store]);
    const file = join(folder, 'work.perdure');
    expect(await callCli(['export', id, '-o', file, '--store', store])).toMatchObject({ code: 0 });
    return file;
  };
  /** The store of these calls does not exist, so opening it would fail. */
  const verify = (...args: readonly string[]) =>
    callCli(['verify', ...args, '--store', `sqlite:${join(folder, 'none.db')}`], { columns: 200 });

  test('[DMG15] accepts a sound bundle without a store', async () => {
    const file = await exported();
    expect(await verify(file)).toMatchObject({ code: 0, out: expect.stringContaining('1 session, 2 events') });
    const { out } = await verify(file, '--json');
    expect(JSON.parse(out)).toEqual({
      sessions: [],
      files: [{ file, ok: true, sessions: [{ session: expect.any(String), events: 2 }] }],
    });
  });

  test('[DMG15] names what is wrong with a bad one, and exits with 1', async () => {
    const file = await exported();
    const bytes = await readFile(file);
    const opened = { type: 'session.opened', payload: {} };
    const bad: Record<string, readonly [bytes: Uint8Array, reason: RegExp]> = {
      'cut off': [bytes.subarray(0, bytes.length - 50), /seal/],
      'one bit': [Buffer.from(bytes.map((byte, at) => (at === 30 ? byte ^ 1 : byte))), /damaged/],
      'no bundle': [Buffer.from('hello\n'), /line 1/],
      'a payload': [
        madeBundle([opened, { type: 'message.appended', payload: {}, turn: 1, opensTurn: true }]).bytes,
        /event 2 of ses_/,
      ],
      'a status': [
        madeBundle([opened, { type: 'session.archived', payload: {} }]).bytes,
        /event 2 of ses_\S+ session.archived cannot follow/,
      ],
      'a commit': [
        madeBundle([
          opened,
          {
            type: 'state.committed',
            payload: { delta: [{ op: 'remove', path: '/facts/x' }], inverse: [], provenance: 'human' },
          },
        ]).bytes,
        /event 2 of ses_\S+ cannot be applied/,
      ],
      'a quarantine': [
        madeBundle([
          opened,
          {
            type: 'session.quarantined',
            payload: { seq: 1, reason: 'r', status: 'open', lastTurn: 0, messages: 0, agent: null },
          },
        ]).bytes,
        /quarantines/,
      ],
    };
    for (const [name, [content, reason]] of Object.entries(bad)) {
      await writeFile(file, content);
      const { code, out } = await verify(file, '--json');
      expect({ name, code, ...JSON.parse(out).files[0] }).toEqual({
        name,
        code: 1,
        file,
        ok: false,
        reason: expect.stringMatching(reason),
      });
    }
    expect(await verify(file)).toMatchObject({ code: 1, out: expect.stringContaining('is not a sound bundle') });
    expect(await verify(join(folder, 'missing.perdure'))).toMatchObject({ code: 5 });
  });

  test('[DMG15] rejects a bundle that would take too much memory', async () => {
    const file = join(folder, 'bomb.perdure');
    await writeFile(file, await bundleBomb({ contents: 1, mebibytes: 33 }));
    expect(await verify(file)).toMatchObject({ code: 1, out: expect.stringContaining('more than 33554432 bytes') });
    const delta = [{ op: 'add', path: '/facts/x', value: 'x'.repeat(1000) }];
    const commit = { type: 'state.committed', payload: { delta, inverse: [], provenance: 'human' } };
    const { bytes } = madeBundle([{ type: 'session.opened', payload: {} }, commit]);
    const checked = (maxCommitBytes: number) => verifyBundle(ReadableStream.from([bytes]), { maxCommitBytes });
    expect(await checked(100_000)).toMatchObject({ ok: true });
    expect(await checked(100)).toMatchObject({ ok: false, reason: expect.stringContaining('more than 100 bytes') });
  });
});
