import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import type { SessionEvent } from '../../src/index.ts';
import { answersOf, libraryOn, makeSquares } from '../support/cli/command-line.ts';
import { bin, callPerdure, environment, runPerdure, startPerdure } from '../support/cli/perdure-command.ts';
import { newStorePlace } from '../support/stores/stores.ts';

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

const { said, answered } = answersOf(callPerdure);
const inLibrary = libraryOn(() => `sqlite:${file()}`);

const eventsOf = (id: string): Promise<SessionEvent[]> =>
  inLibrary(async (sessions) => Array.fromAsync((await sessions.get(id)).events()));

const makeSession = (title?: string) => inLibrary((sessions) => makeSquares(sessions, title));

const changeEvent = (session: string, seq: number): void => {
  const database = new DatabaseSync(file());
  const where = 'session = ? AND seq = ?';
  const row = database.prepare(`SELECT payload FROM events WHERE ${where}`).get(session, seq);
  const payload = row?.payload as Uint8Array;
  payload[payload.length - 3]! ^= 1;
  database.prepare(`UPDATE events SET payload = ? WHERE ${where}`).run(payload, session, seq);
  database.close();
};

describe('every command', () => {
  test('[CLI1] version and help work without a store', async () => {
    const [version, help, about, helpForAll] = await Promise.all([
      said(['--version']),
      said(['--help']),
      said(['help', 'fork']),
      said(['help']),
    ]);
    expect(version).toBe(`${manifest.version}\n`);
    expect(await answered(['--version'])).toEqual({ version: manifest.version });
    expect(helpForAll).toBe(help);
    expect(help).toMatch(/start here\n {2}demo .*\nall commands\n {2}talk .*\n {2}look .*ls, show/s);
    expect(about).toMatch(/^perdure fork SESSION \[options\]\n.*--at POINT.*examples\n {2}perdure fork/s);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('[CLI1] open, append, ls, show and log print text for people', async () => {
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
      new RegExp(`^${id}\nFix it\nactive · turn 2 · 3 messages · 4 events · .*\nno agent · .*\nmetadata {"ticket":12}`),
    );
    expect(shown).toContain('assistant\n  Nothing,\n  it seems.\n');
    expect(log.split('\n')).toEqual([
      expect.stringMatching(/^ {4}1 {2}\d{4}-\d\d-\d\dT[\d:.]+Z {2}t0 {4}session.opened +member:local {4}Fix it$/),
      expect.stringMatching(/^ {4}2 .* t1 .*user: What is wrong\?$/),
      expect.stringMatching(/^ {4}3 .* t1 .*assistant: Nothing, it seems\.$/),
      expect.stringMatching(/^ {4}4 .* t2 .*user: Again\?$/),
      '',
    ]);
    const [event] = (await eventsOf(id)).slice(2) as SessionEvent<'message.appended'>[];
    expect(event?.payload.message.content).toEqual([{ type: 'text', text }]);
  });

  test('[CLI1, HASH4, FAULT2] verify names the first bad event, exits with 1, and checks the other sessions too', async () => {
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
    expect(all).toMatchObject({ code: 1, err: expect.stringContaining(`perdure repair ${bad}`) });
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
  test('[CLI1, BUN1, BUN2] export and import transfer sessions, by file and by pipe', async () => {
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
    expect(await said(['import', 'one.perdure', ...elsewhere])).toBe(`${id}  already here\n${child}  already here\n`);
    const hashes = async (...args: string[]) => (await said(['log', id, '--json', ...args])).match(/"hash":"\w+"/g);
    expect(await hashes(...elsewhere)).toEqual(await hashes());
    expect(readdirSync(cwd).filter((name) => name.includes('part'))).toEqual([]);
  });

  test('[CLI1, CLI4, CLI18, BUN2, BUN3, FAULT3] a failed export or import leaves nothing behind', async () => {
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
    expect(existsSync(join(cwd, 'fresh.db'))).toBe(false);

    const [unknown, nowhere, folder] = await Promise.all([
      callPerdure(['export', id, missing, '-o', 'no.perdure']),
      callPerdure(['export', id, '-o', 'no/such/folder.perdure']),
      callPerdure(['import', '.']),
    ]);
    expect(unknown).toMatchObject({ code: 5, err: expect.stringContaining('SESSION_NOT_FOUND') });
    expect(nowhere).toMatchObject({ code: 1, err: expect.stringMatching(/FILE_UNAVAILABLE: cannot write .*no such/) });
    expect(folder).toMatchObject({
      code: 1,
      err: expect.stringContaining('FILE_UNAVAILABLE: cannot read .: it is a folder'),
    });

    changeEvent(id, 1);
    const damaged = await callPerdure(['export', id, '-o', 'no.perdure']);
    expect(damaged).toMatchObject({ code: 1, err: expect.stringContaining('EVENT_DAMAGED') });
    expect(readdirSync(cwd).filter((name) => /^no|part/.test(name))).toEqual([]);
  });
});

describe('invalid calls and faults', () => {
  test('[CLI1, CLI4, FAULT1] reading does not create a missing store', async () => {
    for (const args of [
      ['ls'],
      ['append', missing, 'x'],
      ['verify', '--all'],
      ['send', missing, 'x'],
      ['chat', missing],
      ['attach', missing],
      ['worker', '--session', missing, '--once'],
    ]) {
      const { code, out, err } = await callPerdure(args);
      expect({ code, out }).toEqual({ code: 8, out: '' });
      expect(err).toMatch(
        /^error STORE_UNAVAILABLE: there is no store at \.perdure\/perdure\.db: `perdure open` makes one/,
      );
    }
    writeFileSync(join(cwd, 'empty.db'), '');
    expect(await callPerdure(['ls', '--store', 'sqlite:empty.db'])).toMatchObject({
      code: 8,
      err: expect.stringContaining('there is no store at empty.db: `perdure open` makes one'),
    });
    expect(statSync(join(cwd, 'empty.db')).size).toBe(0);
    writeFileSync(join(cwd, 'empty.db-wal'), 'log');
    expect(await callPerdure(['ls', '--store', 'sqlite:empty.db'])).toMatchObject({
      code: 8,
      err: expect.stringContaining('put the file back'),
    });
    for (const name of ['empty.db', 'empty.db-wal']) rmSync(join(cwd, name));
    new DatabaseSync(':memory:').exec("VACUUM INTO 'blank.db'");
    const blank = readFileSync(join(cwd, 'blank.db'));
    for (const args of [['verify', '--all'], ['ls'], ['backup', 'copy.db']]) {
      expect(await callPerdure([...args, '--store', 'sqlite:blank.db'])).toMatchObject({
        code: 8,
        err: expect.stringContaining('there is no store at blank.db: `perdure open` makes one'),
      });
    }
    expect(readFileSync(join(cwd, 'blank.db'))).toEqual(blank);
    rmSync(join(cwd, 'blank.db'));
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
      code: 5,
      err: expect.stringMatching(/FILE_NOT_FOUND: there is no file absent\.perdure: name one/),
    });
    expect(readdirSync(cwd)).toEqual([]);
  });

  test('[CLI1, FAULT1] a file that is not a database, or not ours, is named and left unchanged', async () => {
    writeFileSync(join(cwd, 'noise.db'), Buffer.alloc(8192, 'noise'));
    const foreign = new DatabaseSync(join(cwd, 'foreign.db'));
    foreign.exec('CREATE TABLE theirs (a)');
    foreign.close();
    const advice = {
      'noise.db': /; it is not a Perdure store: name an existing store or a new file; if it was a store/,
      'foreign.db': /: the database belongs to another application; give perdure a file of its own$/,
    };
    for (const [name, expected] of Object.entries(advice)) {
      const before = readFileSync(join(cwd, name));
      for (const args of [
        ['ls', '--json'],
        ['open', '--json'],
      ]) {
        const { code, out, err } = await callPerdure([...args, '--store', `sqlite:${name}`]);
        expect({ code, out }).toEqual({ code: 1, out: '' });
        const { message, ...error } = JSON.parse(err).error;
        expect(error.code).toBe('STORE_CORRUPT');
        expect(message).toContain(name);
        expect(message).toMatch(expected);
      }
      expect(readFileSync(join(cwd, name))).toEqual(before);
    }
  });

  test('[CLI1, FAULT1] a folder in place of the store is named, with what to pass instead', async () => {
    mkdirSync(join(cwd, 'folder'));
    for (const command of ['ls', 'open']) {
      const { code, out, err } = await callPerdure([command, '--json', '--store', 'sqlite:folder']);
      expect({ code, out }).toEqual({ code: 8, out: '' });
      expect(JSON.parse(err).error).toMatchObject({
        code: 'STORE_UNAVAILABLE',
        message: expect.stringMatching(/folder: it is a folder; name a file in it: .*folder\/perdure\.db$/),
      });
    }
    expect(readdirSync(join(cwd, 'folder'))).toEqual([]);
  });

  test('[CLI5] arguments with invalid UTF-8, which arrive as U+FFFD, are rejected; stdin accepts U+FFFD itself', async () => {
    const id = await makeSession();
    const script = `exec "$0" "$1" append ${id} "$(printf 'caf\\351')"`;
    const { status, stdout, stderr } = spawnSync('bash', ['-c', script, process.execPath, bin], {
      cwd,
      encoding: 'utf8',
    });
    expect({ status, stdout }).toEqual({ status: 2, stdout: '' });
    expect(stderr).toMatch(/^error INVALID_INPUT: an argument contains U\+FFFD.*stdin/);
    expect(await eventsOf(id)).toHaveLength(7);
    await said(['append', id, '-'], { stdin: 'a \ufffd b' });
    expect(await said(['show', id])).toContain('a \ufffd b');
  });

  test('[CLI1, CLI3, CLI31, FAULT1, CLI18] an unreachable database is reported without its password', async () => {
    const store = 'postgres://ann:s3cr3t@127.0.0.1:1/app';
    const { code, out, err } = await callPerdure(['ls'], { env: { PERDURE_STORE: store, PERDURE_DEBUG: '1' } });
    expect({ code, out }).toEqual({ code: 8, out: '' });
    expect(err).toMatch(/^error STORE_UNAVAILABLE: /);
    expect(err).not.toContain('s3cr3t');
  });
});

describe('terminals and pipes', () => {
  test('[CLI1, WAKE1] log --follow shows events from another process, and Ctrl-C ends it with success', async () => {
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

  test('[CLI1] a closed output pipe ends the command silently', async () => {
    const id = await makeSession();
    await inLibrary(async (sessions) => {
      const messages = Array.from({ length: 1000 }, () => ({ role: 'user', content: 'x'.repeat(360) }) as const);
      await (await sessions.get(id)).append(messages);
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

  test('[CLI29] colours follow NO_COLOR, FORCE_COLOR, TERM and pipes', async () => {
    await makeSession();
    const [plain, forced, refused, both, error] = await Promise.all([
      runPerdure(['ls'], { cwd }),
      runPerdure(['ls'], { cwd, env: { FORCE_COLOR: '1' } }),
      runPerdure(['ls'], { cwd, env: { NO_COLOR: '1' } }),
      runPerdure(['ls'], { cwd, env: { NO_COLOR: '1', FORCE_COLOR: '1' } }),
      runPerdure(['nonsense'], { cwd, env: { FORCE_COLOR: '1' } }),
    ]);
    expect(plain.out + refused.out + both.out).not.toContain('\u001b');
    expect(both).toMatchObject({ code: 0, err: '' });
    expect(forced.out).toContain('\u001b[32mactive');
    expect(error.err).toContain('\u001b[31merror');
    const onTerminal = (env: Record<string, string>): string => {
      const line = [process.execPath, bin, 'ls'].map((word) => `'${word}'`).join(' ');
      return spawnSync('script', ['-qec', line, '/dev/null'], {
        cwd,
        encoding: 'utf8',
        env: { ...environment, ...env },
      }).stdout;
    };
    expect(onTerminal({ TERM: 'xterm-256color' })).toContain('\u001b[32mactive');
    for (const env of [{ TERM: 'dumb' }, { TERM: 'xterm-256color', NO_COLOR: '1' }]) {
      const out = onTerminal(env);
      expect(out).toContain('active');
      expect(out).not.toContain('\u001b');
    }
  });

  test('[TEN1] workspaces in one file do not see each other', async () => {
    await said(['workspaces', 'add', 'one']);
    const id = (await said(['open', '--workspace', 'one'])).trim();
    const [there, here, other] = await Promise.all([
      answered(['ls'], { env: { PERDURE_WORKSPACE: 'one' } }),
      answered(['ls']),
      callPerdure(['show', id]),
    ]);
    expect(there.sessions).toHaveLength(1);
    expect(here.sessions).toEqual([]);
    expect(other).toMatchObject({ code: 5, err: expect.stringContaining('SESSION_NOT_FOUND') });
    expect(existsSync(file())).toBe(true);
  });
});
