import { describe, expect, onTestFinished, test } from 'vitest';
import { displayWidth } from '../../src/cli/terminal/display-width.ts';
import { connect } from '../../src/client/index.ts';
import { callCli, recorder } from '../support/cli/call-cli.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const hostile = 'take \u001b[2J8080\nrefund order 7';

/** A session whose fact rests on a page, on this kind of store and behind a server. */
const start = async (kind: (typeof storeKinds)[number]) => {
  const place = await newStorePlace(kind);
  onTestFinished(place.remove);
  const { server, keys, runtime, json, ask } = await startTestServer({}, { store: place.address });
  const session = await runtime.sessions.open();
  const [page] = await session.append([
    { role: 'user', content: hostile },
    { role: 'assistant', content: 'ok' },
  ]);
  const set = (value: unknown, derivedFrom?: number[]) =>
    session.commit((draft) => void Object.assign(draft.facts, { port: value }), {
      by: 'model',
      derivedFrom,
      why: hostile,
    });
  await set(8080, [page!.seq]);
  const onStore = (argv: readonly string[], world: object = {}) => callCli([...argv, '--store', place.address], world);
  const onServer = (argv: readonly string[], world: object = {}) =>
    callCli([...argv, '--server', server.url], { env: { PERDURE_KEY: keys.viewer }, ...world });
  return { session, set, onStore, onServer, json, ask, server, keys };
};

/** A CLI call that follows. `lines` resolves once so many lines are written, and `stop` interrupts it. */
const following = (
  cli: (argv: readonly string[], world: object) => Promise<{ code: number }>,
  argv: readonly string[],
) => {
  const stopping = new AbortController();
  const out = recorder(Number.POSITIVE_INFINITY);
  const seen = (): readonly string[] => out.bytes().toString('utf8').split('\n').slice(0, -1);
  const ended = cli(argv, { out, interrupted: () => stopping.signal });
  return {
    lines: async (count: number) => {
      await expect.poll(() => seen().length, { timeout: 15_000 }).toBeGreaterThanOrEqual(count);
      return seen();
    },
    stop: async () => {
      stopping.abort();
      return (await ended).code;
    },
  };
};

describe.each(storeKinds)('surfaces of a trace, on %s', (kind) => {
  test('[TRACE7] library, HTTP, client and command line return the same trace', async () => {
    const { session, onStore, onServer, json, ask, server, keys } = await start(kind);
    const trace = await session.trace('/facts/port');
    expect(trace.edges.map(({ reason }) => reason)).toEqual(['set', 'derivedFrom']);
    const at = `/v1/sessions/${session.id}/trace`;
    expect(await json(`${at}?path=${encodeURIComponent('/facts/port')}`)).toEqual(trace);
    expect((await ask(`${at}?path=/facts/none`)).status).toBe(404);
    expect((await ask(`${at}?path=/facts/port&depth=1000`)).status).toBe(400);
    const remote = await connect({ url: server.url, key: keys.viewer }).sessions.get(session.id);
    expect(await remote.trace('/facts/port', { depth: 3, direction: 'back' })).toEqual(trace);
    for (const cli of [onStore, onServer]) {
      expect(JSON.parse((await cli(['trace', session.id, '/facts/port', '--json'])).out)).toEqual(trace);
      const drawn = await cli(['trace', session.id, '/facts/port'], { columns: 80 });
      expect(drawn.raw).not.toContain('\u001b[2J');
      const lines = drawn.out.trimEnd().split('\n');
      for (const line of lines) expect(displayWidth(line)).toBeLessThanOrEqual(80);
      expect(lines[1]).toBe('rests on:');
      expect(drawn.out).toMatch(/└─ set commit seq:\d+ t1 agent:model \(human\)/);
      expect(drawn.out).toMatch(/└─ derivedFrom message seq:\d+ t1 /);
      expect(lines.at(-1)).toBe('what rests on it: nothing');
      const back = await cli(['trace', session.id, '/facts/port', '--back'], { columns: 80 });
      expect(back.out).not.toContain('what rests on it');
      expect((await cli(['trace', session.id, '/facts/port', '--depth', 'x'])).code).toBe(2);
    }
  });

  test('[TRACE8] log --follow --provenance shows each matching commit once, as it is written', async () => {
    const { session, set, onStore, onServer } = await start(kind);
    const argv = ['log', session.id, '--follow', '--provenance', 'unverified', '--path', '/facts/**', '--json'];
    const followers = [following(onStore, argv), following(onServer, argv)];
    await session.commit((draft) => void Object.assign(draft.facts, { sure: 1 }));
    const written: number[] = [];
    for (const value of [1, 2, 3]) {
      const commit = await session.commit((draft) => void Object.assign(draft.facts, { port: value }), {
        provenance: 'unverified',
      });
      written.push(commit!.seq);
      for (const { lines } of followers) await lines(value);
    }
    await set(4);
    for (const { lines, stop } of followers) {
      const seqs = (await lines(3)).map((line) => JSON.parse(line).seq);
      expect(seqs.filter((seq) => written.includes(seq))).toEqual(written);
      expect(new Set(seqs).size).toBe(seqs.length);
      expect(await stop()).toBe(0);
    }
    const some = await onStore(['log', session.id, '-f', '--provenance', 'unverified', '--limit', '2'], {
      columns: 80,
    });
    expect(some.out.trimEnd().split('\n')).toHaveLength(2);
    for (const line of some.out.trimEnd().split('\n')) expect(displayWidth(line)).toBeLessThanOrEqual(80);
    for (const wrong of [['--last', '2'], ['--all'], ['--at', '1']]) {
      expect((await onStore(['log', session.id, '-f', '--provenance', 'unverified', ...wrong])).code).toBe(2);
    }
    const by = await onStore(['log', session.id, '-f', '--actor', 'member:local', '--limit', '1', '--json']);
    expect(JSON.parse(by.out)).toMatchObject({ actor: 'member:local' });
  });
});
