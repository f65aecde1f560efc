import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { openRuntime, type Session, type SessionEvent } from '../../src/index.ts';
import { type CallOptions, callPerdure, runPerdure, startPerdure } from '../perdure-command.ts';
import { newStorePlace } from '../stores.ts';

vi.setConfig({ testTimeout: 120_000 }); // many processes, perhaps on a busy machine
let cwd: string;
const home = process.cwd();
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'perdure-cli-'));
  process.chdir(cwd);
});
afterEach(() => {
  process.chdir(home);
  rmSync(cwd, { recursive: true, force: true });
});

const file = () => join(cwd, '.perdure', 'perdure.db');
const missing = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a';

/** What a call that must succeed says. */
const said = async (args: readonly string[], options?: CallOptions): Promise<string> => {
  const { code, out, err } = await callPerdure(args, options);
  expect({ code, err }, args.join(' ')).toEqual({ code: 0, err: '' });
  return out;
};
const answered = async (args: readonly string[], options?: CallOptions) =>
  JSON.parse(await said([...args, '--json'], options));

/** The same store, seen by the library. */
const inLibrary = async <T>(work: (session: (id: string) => Promise<Session>) => Promise<T>): Promise<T> => {
  const runtime = await openRuntime({ store: `sqlite:${file()}` });
  try {
    return await work(runtime.sessions.get);
  } finally {
    await runtime.close();
  }
};

const eventsOf = (id: string, at?: { seq: number }): Promise<SessionEvent[]> =>
  inLibrary(async (get) => {
    const events: SessionEvent[] = [];
    for await (const event of (await get(id)).events({ at })) events.push(event);
    return events;
  });

/** A session of three answered turns: events 1 to 7. */
const makeSession = (title = 'Squares'): Promise<string> =>
  openRuntime({ store: `sqlite:${file()}` }).then(async (runtime) => {
    const session = await runtime.sessions.open({ title });
    for (const n of [1, 2, 3]) {
      await session.append([
        { role: 'user', content: `What is ${n} times ${n}?` },
        { role: 'assistant', content: `It is ${n * n}.` },
      ]);
    }
    await runtime.close();
    return session.id;
  });

const changeEvent = (session: string, seq: number): void => {
  const database = new DatabaseSync(file());
  const where = 'session = ? AND seq = ?';
  const row = database.prepare(`SELECT payload FROM events WHERE ${where}`).get(session, seq);
  const payload = row?.payload as Uint8Array;
  payload[payload.length - 3]! ^= 1;
  database.prepare(`UPDATE events SET payload = ? WHERE ${where}`).run(payload, session, seq);
  database.close();
};

describe('what every command does', () => {
  test('[CLI1] version and help are there without a store', async () => {
    const [version, help, about, helpForAll] = await Promise.all([
      said(['--version']),
      said(['--help']),
      said(['help', 'fork']),
      said(['help', '--json']),
    ]);
    expect(version).toBe(`${manifest.version}\n`);
    expect(await answered(['--version'])).toEqual({ version: manifest.version });
    expect(helpForAll).toBe(help);
    expect(help).toMatch(/commands\n {2}open .*\n {2}append /);
    expect(about).toMatch(/^perdure fork SESSION \[options\]\n.*--at POINT.*examples\n {2}perdure fork/s);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('[CLI1] open, append, ls, show and log speak to people', async () => {
    const id = (await said(['open', '--title', 'Fix it', '--metadata', '{"ticket":12}'])).trim();
    expect(await said(['append', id, 'What is wrong?'])).toBe(`appended event 2 of ${id}, turn 1\n`);
    const text = 'Nothing,\nit seems.';
    expect(await said(['append', id, '-', '--role', 'assistant'], { stdin: `${text}\n` })).toContain('event 3');
    const keyed = ['append', id, 'Again?', '--key', 'k1'];
    expect(await said(keyed)).toBe(await said(keyed));
    const [list, shown, log] = await Promise.all([said(['ls']), said(['show', id]), said(['log', id])]);
    expect(list).toMatch(
      new RegExp(`^SESSION +STATUS +TURNS +MESSAGES +AGE +TITLE\n${id}  active +2 +3 +\\d+ s|now  Fix it\n$`),
    );
    expect(shown).toMatch(
      new RegExp(`^${id}\nFix it\nactive · turn 2 · 3 messages · 4 events · .*\nmetadata {"ticket":12}`),
    );
    expect(shown).toContain('assistant\n  Nothing,\n  it seems.\n');
    expect(log.split('\n')).toEqual([
      expect.stringMatching(/^ {4}1 {2}\d{4}-\d\d-\d\dT[\d:.]+Z {2}t0 {4}session.opened {5}member:local {2}Fix it$/),
      expect.stringMatching(/^ {4}2 .* t1 .*user: What is wrong\?$/),
      expect.stringMatching(/^ {4}3 .* t1 .*assistant: Nothing, it seems\.$/),
      expect.stringMatching(/^ {4}4 .* t2 .*user: Again\?$/),
      '',
    ]);
    const [event] = (await eventsOf(id)).slice(2) as SessionEvent<'message.appended'>[];
    expect(event?.payload.message.content).toEqual([{ type: 'text', text }]);
  });

  test("[CLI1] JSON answers are the library's own objects", async () => {
    const opened = await answered(['open', '--title', 'Fix it']);
    const { id } = opened;
    expect(opened).toMatchObject({ title: 'Fix it', status: 'open', seq: 1 });
    const lines = ['{"role":"user","content":"a"}', '', '{"role":"assistant","content":[{"type":"text","text":"b"}]}'];
    const appended = await answered(['append', id, '--jsonl'], { stdin: `${lines.join('\n')}\n` });
    const [list, shown, log, tree, verified] = await Promise.all([
      answered(['ls', '--limit', '1']),
      answered(['show', id]),
      said(['log', id, '--json']),
      answered(['tree', id]),
      answered(['verify', id]),
    ]);
    const events = await eventsOf(id);
    expect(appended).toEqual(events.slice(1));
    expect(
      log
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual(events);
    await inLibrary(async (get) => {
      const session = await get(id);
      const summary = await session.summary();
      expect(list).toEqual({ sessions: [summary] });
      expect(shown).toEqual({ summary, transcript: await session.transcript() });
      expect(tree).toEqual(await session.tree());
      expect(verified).toEqual({ sessions: [{ session: id, ...(await session.verify()) }] });
    });
  });

  test('[CLI1] a listing is filtered and goes on at its cursor', async () => {
    const first = await makeSession();
    const second = (await said(['open'])).trim();
    const page = await answered(['ls', '--limit', '1']);
    const [rest, all, none, more] = await Promise.all([
      answered(['ls', '--limit', '1', '--cursor', page.cursor]),
      answered(['ls', '--all', '--status', 'active']),
      said(['ls', '--status', 'archived']),
      callPerdure(['ls', '--limit', '1']),
    ]);
    expect([page, rest].map(({ sessions }) => sessions[0].id)).toEqual([second, first]);
    expect(all.sessions.map(({ id }: { id: string }) => id)).toEqual([first]);
    expect(none).toBe('no session is archived\n');
    expect(more).toMatchObject({ code: 0, err: 'there are more: `perdure ls --all` lists them\n' });
  });

  test('[CLI1, FORK1, REW1] fork, rewind and tree go to points', async () => {
    const id = await makeSession();
    const child = (await said(['fork', id, '--at', 'turn:2', '--title', 'The other way'])).trim();
    const half = await callPerdure(['fork', child, '--at', 'seq:4']);
    expect(half.err).toContain(`perdure resume ${half.out.trim()}`);
    expect(await said(['rewind', id, '--to', '1', '--reason', 'wrong'])).toContain('goes on from turn 1, 2 messages');
    const tree = await said(['tree', child]);
    const [again, shown, log] = await Promise.all([
      answered(['fork', id]),
      answered(['show', id]),
      said(['log', id, '--at', 'turn:1', '--after', '1']),
    ]);
    expect(tree.split('\n')).toEqual([
      `○ ${id}  active  turn 1  Squares`,
      expect.stringMatching(/^├─[●○] .*⑂ seq:[45] {2}(active|paused) {2}turn 2 {2}.*/),
      expect.stringMatching(/^└─[●○] .*⑂ seq:[45] {2}(active|paused) {2}turn 2 {2}.*/),
      '',
    ]);
    expect(tree).toContain(`● ${child}  ⑂ seq:5  active  turn 2  The other way`);
    expect(again).toMatchObject({ parent: id, forkedAt: 8, status: 'active' });
    expect(shown.transcript).toHaveLength(2);
    expect(
      log
        .trimEnd()
        .split('\n')
        .map((line) => Number(line.slice(0, 5))),
    ).toEqual([2, 3, 4, 5, 6, 7, 8]);
    expect(await answered(['rewind', id, '--to', 'seq:7'])).toMatchObject({ messages: 6, turn: 3, seq: 9 });
  });

  test('[CLI1, LIFE1] the lifecycle commands move a session, and what the table forbids changes nothing', async () => {
    const id = await makeSession();
    expect(await said(['pause', id, '--reason', 'lunch'])).toBe(`${id} is paused\n`);
    const refused = await Promise.all([callPerdure(['append', id, 'x']), callPerdure(['archive', id, '--json'])]);
    expect(refused[0]).toMatchObject({ code: 1, out: '' });
    expect(refused[0]?.err).toMatch(/^error ILLEGAL_TRANSITION: cannot append while .* paused; allowed now: .*resume/);
    expect(JSON.parse(refused[1]!.err).error).toMatchObject({
      code: 'ILLEGAL_TRANSITION',
      details: { status: 'paused', command: 'archive', allowed: expect.arrayContaining(['resume', 'close']) },
    });
    expect(await answered(['resume', id])).toMatchObject({ status: 'active' });
    for (const [command, status] of [
      ['close', 'closed'],
      ['archive', 'archived'],
      ['restore', 'closed'],
      ['reopen', 'active'],
    ] as const) {
      expect(await said([command, id])).toBe(`${id} is ${status}\n`);
    }
    const types = (await eventsOf(id)).slice(7).map(({ type }) => type.replace('session.', ''));
    expect(types).toEqual(['paused', 'resumed', 'closed', 'archived', 'restored', 'reopened']);
  });

  test('[CLI1, HASH4, FAULT2] verify names the first bad event, exits 1, and checks the others too', async () => {
    const [bad, good] = [await makeSession('bad'), await makeSession('good')];
    expect(await said(['verify', good, bad])).toBe(
      `✓ ${good}  7 events, the chain holds\n✓ ${bad}  7 events, the chain holds\n`,
    );
    changeEvent(bad, 5);
    changeEvent(bad, 6);
    const [all, json, shown] = await Promise.all([
      callPerdure(['verify', '--all']),
      callPerdure(['verify', bad, '--json']),
      said(['show', good]),
    ]);
    expect(all).toMatchObject({ code: 1, err: '' });
    expect(all.out).toMatch(new RegExp(`✗ ${bad}  event 5 is bad\n  .+\n`));
    expect(all.out).toContain(`✓ ${good}  7 events, the chain holds\n`);
    expect(all.out).toMatch(/\n2 sessions, 1 bad\n$/);
    expect(json.code).toBe(1);
    expect(JSON.parse(json.out).sessions).toMatchObject([{ session: bad, ok: false, events: 4, bad: { seq: 5 } }]);
    expect(shown).toContain('It is 9.');
  });
});

test('[CLI1] the same commands work on PostgreSQL', async () => {
  const place = await newStorePlace('postgres');
  try {
    const env = { PERDURE_STORE: place.address };
    const id = (await said(['open', '--title', 'Elsewhere'], { env })).trim();
    await said(['append', id, 'hello'], { env });
    expect(await said(['ls'], { env })).toMatch(new RegExp(`${id}  active .* Elsewhere\n`));
    expect(await said(['verify', '--all'], { env })).toContain(`✓ ${id}  2 events, the chain holds`);
    expect(readdirSync(cwd)).toEqual([]);
  } finally {
    await place.remove();
  }
});

describe('bundles', () => {
  test('[CLI1, BUN1, BUN2] export and import carry sessions, by file and by pipe', async () => {
    const id = await makeSession();
    const child = (await said(['fork', id, '--at', '2'])).trim();
    const piped = await callPerdure(['export', child]);
    expect(piped).toMatchObject({ code: 0, err: '' });
    expect(await said(['export', child, '-o', 'one.perdure'])).toMatch(/^one\.perdure {2}\d+ bytes\n$/);
    const written = readFileSync(join(cwd, 'one.perdure'));
    const again = await callPerdure(['export', id, '-o', 'one.perdure']);
    expect(again).toMatchObject({ code: 1, out: '', err: expect.stringMatching(/^error FILE_UNAVAILABLE: .*--force/) });
    expect(readFileSync(join(cwd, 'one.perdure'))).toEqual(written);
    expect(await answered(['export', id, child, '-o', 'one.perdure', '--force'])).toMatchObject({
      file: 'one.perdure',
      sessions: [id, child],
      bytes: readFileSync(join(cwd, 'one.perdure')).length,
    });

    const elsewhere = ['--store', 'sqlite:elsewhere.db'];
    expect(await said(['import', '-', ...elsewhere], { stdin: piped.bytes })).toBe(
      `${id}  5 events added\n${child}  1 event added\n`,
    );
    expect(await answered(['import', 'one.perdure', ...elsewhere])).toEqual({
      sessions: [
        { session: id, added: 2 },
        { session: child, added: 0 },
      ],
    });
    expect(await said(['import', 'one.perdure', ...elsewhere])).toBe(
      `${id}  was here already\n${child}  was here already\n`,
    );
    expect(await said(['log', id, '--json', ...elsewhere])).toBe(await said(['log', id, '--json']));
    expect(readdirSync(cwd).filter((name) => name.includes('part'))).toEqual([]);
  });

  test('[CLI1, BUN2, BUN3, FAULT3] what cannot be exported or imported leaves nothing behind', async () => {
    const id = await makeSession();
    await said(['export', id, '-o', 'good.perdure']);
    const good = readFileSync(join(cwd, 'good.perdure'));
    writeFileSync(join(cwd, 'cut.perdure'), good.subarray(0, -20));
    writeFileSync(join(cwd, 'changed.perdure'), good.with(good.length >> 1, good[good.length >> 1]! ^ 1));
    writeFileSync(join(cwd, 'text.perdure'), 'not a bundle\n');
    writeFileSync(join(cwd, 'empty.perdure'), '');
    const fresh = ['--store', 'sqlite:fresh.db'];
    for (const name of ['cut', 'changed', 'text', 'empty']) {
      const { code, out, err } = await callPerdure(['import', `${name}.perdure`, ...fresh]);
      expect({ name, code, out }).toEqual({ name, code: 1, out: '' });
      expect(err).toMatch(/^error BUNDLE_INVALID: .*nothing was imported/);
    }
    expect(await answered(['ls', ...fresh])).toEqual({ sessions: [] });

    const [unknown, nowhere, folder] = await Promise.all([
      callPerdure(['export', id, missing, '-o', 'no.perdure']),
      callPerdure(['export', id, '-o', 'no/such/folder.perdure']),
      callPerdure(['import', '.']),
    ]);
    expect(unknown).toMatchObject({ code: 1, err: expect.stringContaining('SESSION_NOT_FOUND') });
    expect(nowhere).toMatchObject({ code: 1, err: expect.stringMatching(/FILE_UNAVAILABLE: cannot write .*no such/) });
    expect(folder).toMatchObject({
      code: 1,
      err: expect.stringContaining('FILE_UNAVAILABLE: cannot read .: it is a folder'),
    });

    changeEvent(id, 4);
    const damaged = await callPerdure(['export', id, '-o', 'no.perdure']);
    expect(damaged).toMatchObject({ code: 1, err: expect.stringContaining('EVENT_DAMAGED') });
    expect(readdirSync(cwd).filter((name) => /^no|part/.test(name))).toEqual([]);
  });
});

describe('wrong calls and faults', () => {
  test('[CLI1, CLI4, FAULT1] a store that is not there is not made by reading it', async () => {
    for (const args of [['ls'], ['append', missing, 'x'], ['verify', '--all']]) {
      const { code, out, err } = await callPerdure(args);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(
        /^error STORE_UNAVAILABLE: there is no store at \.perdure\/perdure\.db: `perdure open` makes one/,
      );
    }
    for (const args of [
      ['open', '--metadata', '{'],
      ['open', '--metadata', '[1]'],
      ['open', '--title', 'x'.repeat(501)],
      ['open', '--workspace', 'No'],
      ['open', '--store', 'mysql://a:b@c'],
    ]) {
      expect((await callPerdure(args)).code).toBe(2);
    }
    expect(await callPerdure(['import', 'absent.perdure'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/FILE_UNAVAILABLE: cannot read absent/),
    });
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('[CLI1, FAULT1] a file that is no database, or not ours, is named and left as it is', async () => {
    writeFileSync(join(cwd, 'noise.db'), Buffer.alloc(8192, 'noise'));
    const foreign = new DatabaseSync(join(cwd, 'foreign.db'));
    foreign.exec('CREATE TABLE theirs (a)');
    foreign.close();
    for (const name of ['noise.db', 'foreign.db']) {
      const before = readFileSync(join(cwd, name));
      for (const args of [
        ['ls', '--json'],
        ['open', '--json'],
      ]) {
        const { code, out, err } = await callPerdure([...args, '--store', `sqlite:${name}`]);
        expect({ code, out }).toEqual({ code: 1, out: '' });
        expect(JSON.parse(err).error).toMatchObject({ code: 'STORE_CORRUPT', message: expect.stringContaining(name) });
      }
      expect(readFileSync(join(cwd, name))).toEqual(before);
    }
  });

  test('[CLI1, FAULT1] a folder in the place of the store is named, with what to pass instead', async () => {
    mkdirSync(join(cwd, 'folder'));
    for (const command of ['ls', 'open']) {
      const { code, out, err } = await callPerdure([command, '--json', '--store', 'sqlite:folder']);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(JSON.parse(err).error).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/folder: it is a folder; name a file in it: .*folder\/perdure\.db$/),
      });
    }
    expect(readdirSync(join(cwd, 'folder'))).toEqual([]);
  });

  test('[CLI5] bytes that are not UTF-8 are refused in arguments, where they come altered, and the mark itself is taken on stdin', async () => {
    const id = await makeSession();
    const script = `exec "$0" "$1" append ${id} "$(printf 'caf\\351')"`;
    const bin = fileURLToPath(new URL('../../bin/perdure', import.meta.url));
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script, process.execPath, bin], {
      cwd,
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^error INVALID_INPUT: an argument holds U\+FFFD.*stdin/);
    expect(await eventsOf(id)).toHaveLength(7);
    await said(['append', id, '-'], { stdin: 'a \ufffd b' });
    expect(await said(['show', id])).toContain('a \ufffd b');
  });

  test('[CLI1, CLI3, FAULT1] a database that cannot be reached is told without its password', async () => {
    const store = 'postgres://ann:s3cr3t@127.0.0.1:1/app';
    const { code, out, err } = await callPerdure(['ls'], { env: { PERDURE_STORE: store, PERDURE_DEBUG: '1' } });
    expect({ code, out }).toEqual({ code: 1, out: '' });
    expect(err).toMatch(/^error STORE_UNAVAILABLE: /);
    expect(err).not.toContain('s3cr3t');
  });

  test('[CLI1, IN1, IN3, FAULT3] wrong input is refused with its code, and nothing is written', async () => {
    const id = await makeSession();
    const jsonl = ['append', id, '--jsonl'];
    const orphan =
      '{"role":"tool","content":[{"type":"tool-result","callId":"c","tool":"t","outcome":"ok","output":1}]}';
    const cases: readonly (readonly [
      args: readonly string[],
      code: number,
      error: string,
      stdin?: string | Uint8Array,
    ])[] = [
      [['show', missing], 1, 'SESSION_NOT_FOUND'],
      [['verify', missing], 1, 'SESSION_NOT_FOUND'],
      [['show', 'run_01jd3v8m9k5x7q2w4e6r8t0y1a'], 2, 'INVALID_INPUT'],
      [['show', id, '--at', '9'], 1, 'POINT_NOT_FOUND'],
      [['rewind', id, '--to', 'seq:99'], 1, 'POINT_NOT_FOUND'],
      [['rewind', id, '--to', 'seq:0'], 2, 'INVALID_INPUT'],
      [['rewind', id], 2, 'INVALID_INPUT'],
      [['append', id, '-'], 2, 'INVALID_INPUT', 'a\u0000b'],
      [['append', id, '-'], 2, 'INVALID_INPUT', Uint8Array.of(0xff, 0xfe)],
      [jsonl, 2, 'INVALID_INPUT', '{"role":"user","content":"a"}\n{"role":'],
      [jsonl, 2, 'INVALID_INPUT', '{"role":"user","content":"a"}\n{"role":"user","content":"\\ud800"}'],
      [jsonl, 2, 'INVALID_INPUT', 'null'],
      [jsonl, 2, 'INVALID_INPUT', ''],
      [jsonl, 2, 'INVALID_INPUT', orphan],
      [['ls', '--cursor', 'x'], 2, 'INVALID_INPUT'],
      [['log', id, '--follow', '--at', '1'], 2, 'INVALID_INPUT'],
      [['verify'], 2, 'INVALID_INPUT'],
    ];
    const before = await Promise.all([said(['ls', '--json']), said(['log', id, '--json'])]);
    const check = async ([args, code, error, stdin]: (typeof cases)[number]) => {
      const result = await callPerdure([...args, '--json'], stdin === undefined ? {} : { stdin });
      const told = JSON.parse(result.err);
      expect({ args, code: result.code, error: told.error.code }).toEqual({ args, code, error });
      expect(told).toEqual({ error: { code: error, message: expect.any(String), details: expect.any(Object) } });
      expect(result.out).toBe('');
    };
    const waiting = [...cases];
    const worker = async () => {
      for (let next = waiting.pop(); next; next = waiting.pop()) await check(next);
    };
    await Promise.all([worker(), worker(), worker()]);
    expect(await Promise.all([said(['ls', '--json']), said(['log', id, '--json'])])).toEqual(before);
  });

  test('[CLI1, KEY2] a key that was used for something else is refused', async () => {
    const id = await makeSession();
    await said(['append', id, 'one', '--key', 'k']);
    expect(await callPerdure(['append', id, 'two', '--key', 'k'])).toMatchObject({
      code: 1,
      err: expect.stringMatching(/^error KEY_REUSED: /),
    });
  });
});

describe('terminals and pipes', () => {
  test('[CLI1, WAKE1] log --follow tells of what another process appends, and Ctrl-C ends it well', async () => {
    const id = await makeSession();
    const follower = startPerdure(['log', id, '--after', '6', '--follow', '--json'], { cwd });
    const seen: number[] = [];
    const ended = new Promise<number | null>((resolve) => follower.on('close', resolve));
    const reached = (seq: number) =>
      new Promise<void>((resolve) => {
        follower.stdout.on('data', () => seen.includes(seq) && resolve());
      });
    let rest = '';
    follower.stdout.on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop()!;
      for (const line of lines) seen.push(JSON.parse(line).seq);
    });
    await reached(7);
    await Promise.all([reached(8), said(['append', id, 'news'])]);
    follower.kill('SIGINT');
    expect(await ended).toBe(0);
    expect(seen).toEqual([7, 8]);
    const limited = await said(['log', id, '--follow', '--limit', '2']);
    expect(limited.split('\n')).toHaveLength(3);
  });

  test('[CLI1] a reader that has enough ends the command without a word', async () => {
    const id = await makeSession();
    await inLibrary(async (get) => {
      const messages = Array.from({ length: 2000 }, () => ({ role: 'user', content: 'x'.repeat(180) }) as const);
      await (await get(id)).append(messages);
    });
    const child = startPerdure(['log', id], { cwd });
    let problem = '';
    child.stderr.on('data', (chunk) => {
      problem += chunk;
    });
    child.stdout.once('data', () => child.stdout.destroy());
    const code = await new Promise((resolve) => child.on('close', resolve));
    expect({ code, problem }).toEqual({ code: 0, problem: '' });
  });

  test('[CLI1] colours follow NO_COLOR, FORCE_COLOR and pipes', async () => {
    await makeSession();
    const [plain, forced, refused, error] = await Promise.all([
      runPerdure(['ls'], { cwd }),
      runPerdure(['ls'], { cwd, env: { FORCE_COLOR: '1' } }),
      runPerdure(['ls'], { cwd, env: { NO_COLOR: '1' } }),
      runPerdure(['nonsense'], { cwd, env: { FORCE_COLOR: '1' } }),
    ]);
    expect(plain.out + refused.out).not.toContain('\u001b');
    expect(forced.out).toContain('\u001b[32mactive');
    expect(error.err).toContain('\u001b[31merror');
  });

  test('[TEN1] workspaces in one file do not see each other', async () => {
    const id = (await said(['open', '--workspace', 'one'])).trim();
    const [there, here, other] = await Promise.all([
      answered(['ls'], { env: { PERDURE_WORKSPACE: 'one' } }),
      answered(['ls']),
      callPerdure(['show', id]),
    ]);
    expect(there.sessions).toHaveLength(1);
    expect(here.sessions).toEqual([]);
    expect(other).toMatchObject({ code: 1, err: expect.stringContaining('SESSION_NOT_FOUND') });
    expect(existsSync(file())).toBe(true);
  });
});
