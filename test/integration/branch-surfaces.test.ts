import { expect, onTestFinished, test } from 'vitest';
import { displayWidth } from '../../src/cli/terminal/display-width.ts';
import { connect } from '../../src/client/index.ts';
import { openRuntime, type Session } from '../../src/index.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { callCliOn } from '../support/cli/call-cli.ts';
import { startTestServer } from '../support/servers/http-server.ts';

type World = NonNullable<Parameters<typeof callCliOn>[2]>;

const say = (session: Session, text: string) =>
  session.append([
    { role: 'user', content: 'which way?' },
    { role: 'assistant', content: text },
  ]);
const decide = (session: Session, what: string) =>
  session.commit((draft) => Object.assign(draft.decisions, { way: { what, why: `it is\u001b[2J ${what}` } }));

const hostile = 'Go \u001b[31mleft\u001b[2J\u0007\nright? \u202e'.repeat(20);

/** A session whose first turn was answered twice, and a fork from before it with a third answer. */
const branchesIn = async (runtime: Pick<Awaited<ReturnType<typeof openRuntime>>, 'sessions'>) => {
  const session = await runtime.sessions.open({ title: 'Crossing\u001b]0;owned\u0007' });
  const fork = await session.fork({ title: 'Fork' });
  await say(session, 'Go left.');
  await decide(session, 'left');
  await session.files.write('left\u001b[2J.txt', 'left');
  const { attempts } = await session.retry({ turn: 1 });
  await session.append({ role: 'assistant', content: hostile });
  await decide(session, 'right');
  await say(fork, 'Stay.');
  await decide(fork, 'none');
  return { session, fork, attempts };
};

const commandLine = async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database) });
  onTestFinished(() => runtime.close());
  const cli = (argv: readonly string[], world: World = {}) => callCliOn(database, argv, world);
  return { ...(await branchesIn(runtime)), cli, runtime };
};

const pipe = { columns: Number.POSITIVE_INFINITY };
/** Text that would reach a terminal as a command. `recorder` styles with bold only. */
const isPlain = (raw: string): boolean =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be printed
  !/[\u0000-\u0009\u000b-\u001a\u001c-\u001f\u007f-\u009f\u202e]|\u001b(?!\[1m|\[22m)/.test(raw);

test('[PLACE1] every command that takes a point takes an attempt', async () => {
  const { session, cli } = await commandLine();
  const { id } = session;
  const out = async (...argv: readonly string[]) => {
    const { code, out: text, err } = await cli(argv, pipe);
    expect({ code, err }, argv.join(' ')).toEqual({ code: 0, err: '' });
    return text;
  };
  expect(await out('show', id, '--at', 'turn:1#1')).toMatch(/the transcript at attempt 1 at turn 1\n.*Go left\./s);
  expect(await out('state', id, '--at', '1#1', '--path', '/decisions/way/what', '--json')).toBe('"left"\n');
  expect(await out('context', id, '--at', '1#1')).toContain('Go left.');
  expect(await out('log', id, '--at', '1#1')).not.toContain('session.rewound');
  expect(await out('files', 'ls', id, '--at', '1#1')).toContain('left');
  expect(await out('files', 'ls', id, '--at', '1#2')).toContain('there are no files');
  expect(await out('files', 'history', id, 'left\u001b[2J.txt', '--at', '1#1', '--json')).toContain('created');
  expect(await out('files', 'cat', id, 'left\u001b[2J.txt', '--at', 'turn:1#1')).toBe('left');
  expect(await out('happened', id, '--after', '1#1')).toContain('no call with effects');
  expect(await out('files', 'restore', id, '1#1', '--dry-run')).toContain('created left');
  const child = (await out('fork', id, '--at', 'turn:1#1')).trim();
  expect(await out('state', child, '--path', '/decisions/way/what', '--json')).toBe('"left"\n');
  expect(await out('diff', id, `${child}@1#1`, '1#1')).toContain('no difference');
  expect(await out('rewind', id, '--to', 'turn:1#1')).toContain('goes on from turn 1');
  expect((await cli(['state', id, '--at', '1#9'], pipe)).err).toContain('attempts so far: 2');
});

test('[PLACE5] show names the attempts at retried turns, and how to compare the last two', async () => {
  const { session, cli } = await commandLine();
  const { out, raw } = await cli(['show', session.id]);
  expect(out).toContain('turn 1 was retried: turn:1#1 (left behind), turn:1#2\n');
  expect(out.replaceAll(/\s+/g, ' ')).toContain(`to compare: perdure diff ${session.id} 'turn:1#1' 'turn:1#2'`);
  expect(isPlain(raw)).toBe(true);
  const { attempts } = JSON.parse((await cli(['show', session.id, '--json'], pipe)).out);
  expect(attempts).toEqual([
    { turn: 1, attempt: 1, asTurn: 1, isLive: false },
    { turn: 1, attempt: 2, asTurn: 2, isLive: true },
  ]);
});

test('[COMP4] compare prints columns within the terminal, and blocks if it is narrow or a pipe', async () => {
  const { session, fork, cli } = await commandLine();
  const argv = ['compare', `${session.id}@1#1`, 'turn:1#2', fork.id];
  for (const columns of [40, 60, 80, 120]) {
    const { code, out, raw } = await cli(argv, { columns });
    expect(code).toBe(0);
    expect(isPlain(raw), `${columns}`).toBe(true);
    const table = out.split('\nto go on with a branch')[0]!;
    for (const line of table.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
    const isBeside = /answer\s+Go left\..*Stay\./.test(table);
    expect(isBeside).toBe(columns >= 80);
    expect(table).toContain('way: left');
    expect(table).toMatch(/outcome\s+no run/);
  }
  const { out, raw } = await cli(argv, pipe);
  expect(isPlain(raw)).toBe(true);
  expect(out.match(/^\d \w+(@\S+)?$/gm)).toHaveLength(3);
  const json = await cli([...argv, '--json'], pipe);
  expect(JSON.parse(json.out)).toEqual(
    await session.compare([{ turn: 1, attempt: 1 }, { turn: 1, attempt: 2 }, { session: fork.id }]),
  );
});

test('[COMP5] compare prints the command that goes on with each branch, and these commands work', async () => {
  const { session, fork, cli } = await commandLine();
  await fork.append({ role: 'user', content: 'more' });
  const { out } = await cli(['compare', `${session.id}@1#1`, '1#2', fork.id, `${fork.id}@1`], pipe);
  expect(out).toContain(`\n1:\n  perdure rewind ${session.id} --to '1#1' --store memory\n`);
  expect(out).toContain(`\n2: ${session.id} is there already\n`);
  expect(out).toContain(`\n3:\n  perdure adopt ${session.id} ${fork.id} --on-conflict theirs --store memory\n`);
  expect(out).toMatch(
    /\n4:\n {2}perdure adopt ses_\w+ --on-conflict theirs .*"\$\(perdure fork ses_\w+ --at 1 .*\)"\n/,
  );
});

test('[COMP5] compare --adopt goes on with a branch, which wins where both sides changed the same thing', async () => {
  const { session, fork, cli } = await commandLine();
  const way = async () => (await session.state()).decisions.way!.what;
  const adopted = await cli(['compare', session.id, fork.id, '--adopt', fork.id], pipe);
  expect(adopted).toMatchObject({ code: 0, out: expect.stringContaining('adopted with event') });
  expect(await way()).toBe('none');
  const back = await cli(['compare', session.id, '1#1', '--adopt', '2', '--json'], pipe);
  expect(JSON.parse(back.out).adopted).toMatchObject({ branch: 2, rewind: { cancelled: [] } });
  expect(await way()).toBe('left');
  await decide(fork, 'later');
  const earlier = await cli([
    'compare',
    session.id,
    `${fork.id}@seq:${(await fork.summary()).seq - 1}`,
    '--adopt',
    '2',
  ]);
  expect(earlier.code).toBe(0);
  expect(await way()).toBe('none');
  const kept = await cli(['compare', session.id, fork.id, '--adopt', '1'], pipe);
  expect(kept.out).toContain('nothing was changed');
  const into = await cli(['compare', session.id, fork.id, '--into', fork.id, '--adopt', '1', '--json'], pipe);
  expect(JSON.parse(into.out).adopted.adoption.conflicts).toMatchObject([{ path: '/decisions/way' }]);
  expect((await fork.state()).decisions.way!.what).toBe('none');
});

test('[COMP5] compare asks a person at a terminal for the branch to go on with', async () => {
  const { session, fork, cli } = await commandLine();
  const asked: string[] = [];
  const saying = (line: string): World => ({
    columns: 80,
    person: () =>
      ({
        isTerminal: true,
        prompt: (text: string) => void asked.push(text),
        nextLine: async () => line,
        close: () => undefined,
      }) as never,
  });
  const { seq } = await session.summary();
  expect(await cli(['compare', session.id, fork.id], saying(''))).toMatchObject({ code: 0 });
  expect((await session.summary()).seq).toBe(seq);
  expect(asked).toEqual(['adopt which? [1 to 2, or Enter for none] ']);
  expect((await cli(['compare', session.id, fork.id], saying('2'))).out).toContain('adopted with event');
  expect((await session.state()).decisions.way!.what).toBe('none');
});

test('[COMP4, CLI1] wrong calls of compare say what is expected', async () => {
  const { session, fork, cli } = await commandLine();
  const wrong: readonly (readonly [readonly string[], RegExp])[] = [
    [['turn:1', fork.id], /names no session/],
    [[session.id, ...Array.from({ length: 8 }, () => '1')], /2 to 8 branches; got 9/],
    [[session.id, fork.id, '--adopt', '3'], /none of the branches/],
    [[session.id, 'now'], /is not a point/],
  ];
  for (const [argv, message] of wrong) {
    const { code, err } = await cli(['compare', ...argv], pipe);
    expect({ code, err }, argv.join(' ')).toMatchObject({ code: 2, err: expect.stringMatching(message) });
  }
});

test('[PLACE1, PLACE5, PLACE7, COMP2] over HTTP and in the client, attempts are points and branches are compared', async () => {
  const { runtime, server, keys, json, ask } = await startTestServer();
  const { session, fork, attempts } = await branchesIn(runtime);
  const at = `/v1/sessions/${session.id}`;
  const first = encodeURIComponent('turn:1#1');
  expect((await json(`${at}/state?at=${first}`)).decisions.way.what).toBe('left');
  expect((await json(`${at}/transcript?at=${first}`)).entries.at(-1).message.content[0].text).toBe('Go left.');
  expect((await json(`${at}/files?at=${first}`)).files).toHaveLength(1);
  expect(
    (await json(`${at}/files/history?at=${first}&path=${encodeURIComponent('left\u001b[2J.txt')}`)).versions,
  ).toHaveLength(1);
  const forked = await json(`${at}/fork`, { method: 'POST', body: { at: { turn: 1, attempt: 1 } } });
  expect((await json(`/v1/sessions/${forked.id}/state`)).decisions.way.what).toBe('left');
  expect((await ask(`${at}/state?at=${encodeURIComponent('turn:1#0')}`)).status).toBe(400);
  expect((await ask(`${at}/state?at=${encodeURIComponent('turn:1#3')}`)).status).toBe(404);
  expect((await ask(`${at}/compare?branch=seq:1`)).status).toBe(400);
  expect((await ask(`${at}/compare?${'branch=seq:1&'.repeat(9)}`)).status).toBe(400);
  expect((await ask(`${at}/compare?branch=seq:1&branch=ses_01jd3v8m9k5x7q2w4e6r8t0y1a`)).status).toBe(404);
  const viewer = await connect({ url: server.url, key: keys.viewer }).sessions.get(session.id);
  const { previous, next } = attempts;
  expect(await viewer.state({ at: previous })).toEqual(await session.state({ at: previous }));
  expect(await viewer.attempts()).toEqual(await session.attempts());
  expect(await viewer.attempts({ limit: 1 })).toEqual(await session.attempts({ limit: 1 }));
  const places = [previous, next, { session: fork.id }, { session: fork.id, turn: 1, attempt: 1 }];
  expect(await viewer.compare(places)).toEqual(await session.compare(places));
  await expect(viewer.fork({ at: previous })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const member = await connect({ url: server.url, key: keys.member }).sessions.get(session.id);
  expect((await member.retry({ turn: 2 })).attempts).toEqual({
    previous: { turn: 1, attempt: 2 },
    next: { turn: 1, attempt: 3 },
  });
  await member.rewind({ to: previous });
  expect((await session.state()).decisions.way!.what).toBe('left');
});
