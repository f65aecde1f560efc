import { describe, expect, onTestFinished, test } from 'vitest';
import { openRuntime, type Session } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { memoryCommandLine } from '../support/cli/command-line.ts';
import { startTestServer } from '../support/servers/http-server.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

type Page<T> = { readonly items: readonly T[]; readonly cursor?: string | undefined };
type ReadPage<T> = (cursor: string | undefined) => Promise<Page<T>>;

/** Reads all pages, and calls `between` after the first one. */
const readAll = async <T>(read: ReadPage<T>, between: () => Promise<unknown> = async () => undefined) => {
  const pages = [await read(undefined)];
  await between();
  for (let last = pages[0]!; last.cursor !== undefined; pages.push(last)) last = await read(last.cursor);
  return pages.map(({ items }) => items);
};

const transcriptOf =
  (session: Session, options: Parameters<Session['transcript']>[0]): ReadPage<string> =>
  async (cursor) => {
    const page = await session.transcript({ ...options, cursor });
    const texts = page.entries.flatMap(({ message }) =>
      message.content.map((part) => ('text' in part ? part.text : '')),
    );
    return { items: texts, cursor: page.cursor };
  };
const commitsOf =
  (source: Pick<Session, 'commits'>, options: Parameters<Session['commits']>[0]): ReadPage<string> =>
  async (cursor) => {
    const { commits, cursor: next } = await source.commits({ ...options, cursor });
    return { items: commits.flatMap(({ entries }) => entries), cursor: next };
  };
const callsOf =
  (source: Pick<Session, 'toolCalls'>, options: Parameters<Session['toolCalls']>[0]): ReadPage<string> =>
  async (cursor) => {
    const { calls, cursor: next } = await source.toolCalls({ ...options, cursor });
    return { items: calls.map(({ tool }) => tool), cursor: next };
  };

/** One turn with a message, a commit and a call, each named after the turn. */
const takeTurn = async (session: Session, name: string): Promise<void> => {
  await session.append({ role: 'user', content: name });
  await session.commit((draft) => {
    draft.facts[name] = true;
  });
  const tools = await session.track({ [name]: async () => 'done' });
  await tools[name]!();
};
const takeTurns = async (session: Session, names: string): Promise<void> => {
  for (const name of names) await takeTurn(session, name);
};
const facts = (names: string): readonly string[] => [...names].map((name) => `/facts/${name}`);

describe.each(storeKinds)('pages on %s', (kind) => {
  const start = async () => {
    const place = await newStorePlace(kind);
    const runtime = await openRuntime({ store: place.address, worker: false });
    onTestFinished(async () => {
      await runtime.close();
      await place.remove();
    });
    return { runtime, session: await runtime.sessions.open() };
  };

  test('[VIEW15, VIEW16] pages repeat nothing and skip nothing while a session grows, in a fork and across a rewind', async () => {
    const { runtime, session } = await start();
    await takeTurns(session, 'abcde');
    const limit = 2;
    const grow = () => takeTurn(session, 'f');
    expect(await readAll(transcriptOf(session, { limit }), grow)).toEqual([['d', 'e'], ['b', 'c'], ['a']]);
    expect(await readAll(commitsOf(session, { limit, path: '/facts/*' }), () => takeTurn(session, 'g'))).toEqual([
      facts('fe'),
      facts('dc'),
      facts('ba'),
    ]);
    expect(await readAll(callsOf(session, { limit: 3, input: true }))).toEqual([
      ['g', 'f', 'e'],
      ['d', 'c', 'b'],
      ['a'],
    ]);
    const fork = await session.fork({ at: { turn: 4 } });
    await fork.resume();
    await takeTurn(fork, 'x');
    expect(await readAll(transcriptOf(fork, { limit }))).toEqual([['d', 'x'], ['b', 'c'], ['a']]);
    expect(await readAll(commitsOf(fork, { limit, path: '/facts/*' }))).toEqual([facts('xd'), facts('cb'), facts('a')]);
    expect((await readAll(callsOf(fork, { limit }))).flat().join('')).toBe('xdcba');
    expect((await readAll(commitsOf(runtime.sessions, { limit, path: '/facts/*' }))).flat()).toEqual(facts('xgfedcba'));
    const rewind = () => session.rewind({ to: { turn: 3 } });
    expect(await readAll(transcriptOf(session, { limit }), rewind)).toEqual([['f', 'g'], ['b', 'c'], ['a']]);
    expect((await readAll(callsOf(session, { limit }))).flat().join('')).toBe('cba');
  });

  test('[VIEW16] the last turns are counted on the first page', async () => {
    const { session } = await start();
    await takeTurns(session, 'abcd');
    const grow = () => takeTurns(session, 'yz');
    expect(await readAll(transcriptOf(session, { limit: 1, lastTurns: 3 }), grow)).toEqual([['d'], ['c'], ['b']]);
    const last = { last: { turns: 3 }, limit: 1 };
    const more = () => takeTurns(session, '1');
    expect((await readAll(commitsOf(session, { ...last, path: '/facts/*' }), more)).flat()).toEqual(facts('zyd'));
    expect((await readAll(callsOf(session, last), more)).flat().join('')).toBe('1zy');
  });

  test('[VIEW15] a page ends before 4 MiB, and a larger item has a page of its own', async () => {
    const { session } = await start();
    const mib = 'm'.repeat(1024 * 1024);
    for (const [index, size] of [1, 2, 5, 1].entries()) {
      await session.append({ role: 'user', content: mib.repeat(size) });
      await session.commit([{ op: 'add', path: `/facts/${index}`, value: mib.repeat(size) }]);
    }
    const sizes = (texts: readonly string[]) => texts.map(({ length }) => length / mib.length);
    expect((await readAll(transcriptOf(session, {}))).map(sizes)).toEqual([[1], [5], [1, 2]]);
    const paths = await readAll(commitsOf(session, {}));
    expect(paths).toEqual([['/facts/3'], ['/facts/2'], ['/facts/1', '/facts/0']]);
  });
});

test('[VIEW15] a cursor of another listing and a limit over 1000 are rejected', async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), worker: false });
  onTestFinished(() => runtime.close());
  const session = await runtime.sessions.open();
  await takeTurns(session, 'ab');
  const { cursor } = await session.commits({ limit: 1 });
  const rejection = { code: 'INVALID_INPUT' };
  for (const wrong of [cursor, 'x', '1.2', '3.1.1.2', '1.1.1.ses_1']) {
    await expect(session.transcript({ cursor: wrong }), wrong).rejects.toMatchObject(rejection);
  }
  for (const wrong of ['x', '1.2.3', '1.1.1.ses_1']) {
    await expect(session.commits({ cursor: wrong }), wrong).rejects.toMatchObject(rejection);
    await expect(runtime.sessions.toolCalls({ cursor: wrong }), wrong).rejects.toMatchObject(rejection);
  }
  await expect(session.transcript({ limit: 1001 })).rejects.toMatchObject(rejection);
  await expect(session.commits({ limit: 1001 })).rejects.toMatchObject(rejection);
});

test('[VIEW15, VIEW17, HTTP36] a server pages the same reads, and answers with a part of the state', async () => {
  const { json, ask, runtime } = await startTestServer();
  const { id } = await json('/v1/sessions', { method: 'POST', body: {} });
  const at = `/v1/sessions/${id}`;
  for (const content of ['a', 'b', 'c']) {
    await json(`${at}/messages`, { method: 'POST', body: { messages: [{ role: 'user', content }] } });
  }
  const first = await json(`${at}/transcript?limit=2`);
  expect(first.entries).toHaveLength(2);
  const rest = await json(`${at}/transcript?limit=2&cursor=${first.cursor}`);
  expect(rest).toMatchObject({ entries: [{ turn: 1 }] });
  expect(rest).not.toHaveProperty('cursor');
  const commit = (path: string, value: unknown) =>
    json(`${at}/state`, { method: 'PATCH', body: { patch: [{ op: 'add', path, value }] } });
  await commit('/facts/port', 8080);
  await commit('/facts/a~1b', ['x', { y: null }]);
  const page = await json(`${at}/commits?limit=1`);
  expect(page.commits).toMatchObject([{ entries: ['/facts/a~1b'] }]);
  expect(await json(`${at}/commits?cursor=${page.cursor}`)).toMatchObject({ commits: [{ entries: ['/facts/port'] }] });
  expect((await ask(`${at}/tool-calls?cursor=x`)).status).toBe(400);
  expect(await json(`${at}/state?path=/facts/a~1b/1`)).toEqual({ y: null });
  expect(await json(`${at}/state?path=/facts/a~1b/1/y`)).toBeNull();
  const port = await ask(`${at}/state?path=/facts/port`);
  expect(await port.json()).toBe(8080);
  for (const path of ['/facts/host', '/facts/a~1b/length', '/facts/toString', '/facts/port/x']) {
    expect((await ask(`${at}/state?path=${path}`)).status, path).toBe(404);
  }
  const mib = 'm'.repeat(1024 * 1024);
  await (await runtime.sessions.get(id)).commit((draft) => {
    draft.facts.large = mib;
    draft.facts.larger = mib.repeat(5);
  });
  const whole = await ask(`${at}/state`);
  expect(whole.status).toBe(413);
  expect(await whole.json()).toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    details: { paths: expect.arrayContaining(['/facts']) },
  });
  const problem = await (await ask(`${at}/state?path=/facts`)).json();
  expect(problem).toMatchObject({
    details: { paths: ['/facts/larger', '/facts/large', '/facts/a~1b', '/facts/port'] },
  });
  expect(await json(`${at}/state?path=/facts/larger`)).toHaveLength(5 * mib.length);
  const etag = port.headers.get('etag')!;
  expect((await ask(`${at}/state?path=/facts/port`, { headers: { 'if-none-match': etag } })).status).toBe(304);
});

test('[VIEW15, VIEW17] show, log and calls say how to see older ones, and state shows a part', async () => {
  const { call, said, answered, jsonLines, inLibrary } = memoryCommandLine();
  const id = await inLibrary(async (sessions) => {
    const session = await sessions.open();
    await takeTurns(session, 'abc');
    return session.id;
  });
  const pages: readonly (readonly string[])[] = [
    ['show', id],
    ['log', id, '--path', '/facts/*'],
    ['log', '--all', '--path', '/facts/*'],
    ['calls', id],
    ['calls'],
  ];
  for (const words of pages) {
    const { err } = await call([...words, '--limit', '2']);
    const [, command] = /there are older ones: perdure (.+)\n/.exec(err) ?? [];
    expect(command, words.join(' ')).toContain('--limit 2 --cursor ');
    const next = await call(command!.replaceAll("'", '').split(' '));
    expect(next.err, command).toBe('');
    expect(next.code).toBe(0);
  }
  const shown = await answered(['show', id, '--limit', '2']);
  const older = await answered(['show', id, '--limit', '2', '--cursor', shown.cursor]);
  expect(older.transcript).toMatchObject([{ turn: 1 }]);
  expect(await jsonLines(['log', id, '--path', '/facts/*'])).toHaveLength(3);
  expect(await said(['state', id, '--path', '/facts/a', '--json'])).toBe('true\n');
  expect(await call(['state', id, '--path', '/facts/z'])).toMatchObject({ err: expect.stringContaining('/facts/z') });
});
