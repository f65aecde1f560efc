import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { hostilePaths } from '../../../../test/support/files/hostile-paths.ts';
import { openRuntime, type Runtime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import type { World } from '../../parse/world.ts';
import { displayWidth } from '../../terminal/display-width.ts';

let database: ReturnType<typeof newMemoryDatabase>;
let folder: string;
let runtime: Runtime;
beforeEach(async () => {
  database = newMemoryDatabase();
  folder = mkdtempSync(join(tmpdir(), 'perdure-files-cli-'));
  runtime = await openRuntime({ store: openMemoryStore(database), data: join(folder, 'data') });
});
afterEach(async () => {
  await runtime.close();
  rmSync(folder, { recursive: true, force: true });
});

const cli = (argv: readonly string[], world: Parameters<typeof callCli>[1] = {}) =>
  callCli([...argv, '--store', 'memory'], {
    openRuntime: (options) => openRuntime({ ...options, store: openMemoryStore(database), data: join(folder, 'data') }),
    ...world,
  });
const pipe = { columns: Number.POSITIVE_INFINITY };
const input = (text: string | Uint8Array): Pick<World, 'stdin'> => ({
  stdin: async function* () {
    yield Buffer.from(text);
  },
});
const json = async (...argv: readonly string[]) => JSON.parse((await cli([...argv, '--json'], pipe)).out);
const refused = async (argv: readonly string[], world?: Parameters<typeof callCli>[1]) => {
  const { code, err } = await cli([...argv, '--json'], { ...pipe, ...world });
  return { exit: code, ...JSON.parse(err).error } as { exit: number; code: string; message: string };
};
const begin = async (files: Record<string, string | Uint8Array> = {}) => {
  const session = await runtime.sessions.open();
  for (const [path, content] of Object.entries(files)) await session.files.write(path, content);
  return session;
};

/** A person at a terminal who types the given line. */
const saying = (line: string, asked: string[] = []): Pick<World, 'person'> => ({
  person: () => ({
    isTerminal: true,
    prompt: (text) => void asked.push(text),
    nextLine: async () => line,
    onInterrupt: () => undefined,
    onTyping: () => undefined,
    isSilent: async () => undefined,
    close: () => undefined,
  }),
});

test('[FILE38] files can be put, listed and read, byte for byte in a pipe', async () => {
  const { id, files } = await begin();
  const bytes = Buffer.from([0, 255, 10]);
  const script = join(folder, 'run.sh');
  writeFileSync(script, '#!/bin/sh\n');
  chmodSync(script, 0o755);
  expect(await cli(['files', 'put', id, 'bin/run', script])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/bin\/run {2}10 bytes, event/),
  });
  expect(await cli(['files', 'put', id, 'bin/run', script])).toMatchObject({ out: 'bin/run is already like that\n' });
  const { hash } = await json('files', 'put', id, 'bin/run', script);
  await cli(['files', 'put', id, 'data', '-', '--mode', '600', '--expect', 'none', '--why', 'test'], input(bytes));
  expect(await files.list()).toMatchObject([
    { path: 'bin', kind: 'folder' },
    { path: 'bin/run', mode: 0o755, hash },
    { path: 'data', mode: 0o600, size: 3 },
  ]);
  expect((await cli(['files', 'cat', id, 'data'], pipe)).bytes).toEqual(bytes);
  expect(await json('files', 'cat', id, 'data')).toEqual({
    name: 'data',
    size: 3,
    encoding: 'base64',
    content: 'AP8K',
  });
  expect((await cli(['files', 'cat', id, 'data'])).err).toMatch(/is not text: pipe it/);
  expect((await cli(['files', 'ls', id])).out).toBe(
    'MODE  SIZE  PATH\n0755        bin/\n0755    10  bin/run\n0600     3  data\n',
  );
  expect((await json('files', 'ls', id)).files).toEqual(JSON.parse(JSON.stringify(await files.list())));
  expect((await cli(['files', 'ls', id, '--at', 'seq:1'])).out).toMatch(/there are no files/);
  expect(await refused(['files', 'put', id, 'data', '-', '--expect', hash])).toMatchObject({
    exit: 6,
    code: 'CONFLICT',
  });
  expect(await refused(['files', 'cat', id, 'bin/rum'])).toMatchObject({
    exit: 5,
    code: 'FILE_NOT_FOUND',
    message: expect.stringMatching(/bin\/run/),
  });
  expect(await refused(['files', 'put', id, 'x', join(folder, 'none')])).toMatchObject({
    exit: 5,
    code: 'FILE_NOT_FOUND',
  });
  expect(await refused(['files', 'put', id, 'x', '-', '--mode', '9'])).toMatchObject({ exit: 2 });
});

test('[FILE38] diffs have the format of git, and the history shows who made a change and why', async () => {
  const session = await begin({ 'a.txt': 'one\ntwo\n' });
  const { seq } = await session.summary();
  await session.files.write('a.txt', 'one\n2\n', { why: 'shorter' });
  const { id } = session;
  const { unified } = await session.files.diff({ seq }, { session: id });
  expect((await cli(['files', 'diff', id, `seq:${seq}`], pipe)).out).toBe(unified);
  expect((await cli(['files', 'diff', id, `seq:${seq}`])).out).toContain('-two\n+2\n');
  expect((await cli(['files', 'diff', id, `seq:${seq}`, `seq:${seq}`])).out).toBe('no difference\n');
  expect(await json('files', 'diff', id, `seq:${seq}`)).toMatchObject({ unified });
  const { out } = await cli(['files', 'history', id, 'a.txt'], { columns: 80 });
  expect(out).toMatch(/SEQ +TIME +TURN +BY +CHANGE\n.* member:local +modified a\.txt: shorter\n.* created a\.txt\n$/s);
  expect((await json('files', 'history', id, 'a.txt')).versions).toMatchObject([
    { why: 'shorter' },
    { change: 'created' },
  ]);
  expect((await cli(['files', 'history', id, 'b'])).out).toMatch(/no changes of/);
});

test('[FILE38] files can only be copied into a new or empty folder', async () => {
  const { id } = await begin({ 'src/a': '1', b: '2' });
  const to = join(folder, 'copy');
  expect(await json('files', 'get', id, '--to', to)).toEqual({ folder: to, files: 2 });
  expect(readFileSync(join(to, 'src/a'), 'utf8')).toBe('1');
  expect(await refused(['files', 'get', id, '--to', to])).toMatchObject({ exit: 1, code: 'FILE_UNAVAILABLE' });
  expect((await cli(['files', 'get', id, 'src', '--to', join(folder, 'part')])).out).toMatch(/1 file/);
  expect(readdirSync(join(folder, 'part'))).toEqual(['src']);
  expect(await refused(['files', 'get', id])).toMatchObject({ exit: 2, message: expect.stringMatching(/--to/) });
});

test('[FILE38] every command refuses hostile paths and shows control characters in names as plain text', async () => {
  const name = 'a\u001b[2J\u202e\n.txt';
  const { id } = await begin({ [name]: 'x\u001b[31m\n', 'deep/file': '1' });
  for (const argv of [['ls'], ['cat', name], ['history', name], ['diff', '0'], ['restore', 'seq:1', '--dry-run']]) {
    const [action, ...rest] = argv;
    const { raw, out } = await cli(['files', action!, id, ...rest], { columns: 80 });
    for (const piece of ['\u001b[2J', '\u001b[31m', '\u202e']) expect(raw, argv.join(' ')).not.toContain(piece);
    for (const line of out.split('\n')) expect(displayWidth(line), line).toBeLessThanOrEqual(80);
  }
  expect((await json('files', 'ls', id)).files[0].path).toBe(name);
  const to = join(folder, 'never');
  for (const path of hostilePaths.filter((each) => !each.includes('\0') && each.isWellFormed())) {
    for (const argv of [
      ['put', id, path, '-'],
      ['cat', id, path],
      ['history', id, path],
      ['get', id, path, '--to', to],
      ['restore', id, 'seq:1', path],
    ]) {
      expect(await refused(['files', ...argv], input('x')), path).toMatchObject({ exit: 2, code: 'INVALID_INPUT' });
    }
  }
  expect(existsSync(to)).toBe(false);
});

test('[FILE38, FILE53] a restore shows its changes, and asks for confirmation before it changes the own folder of a person', async () => {
  const session = await begin({ a: '1' });
  const { seq } = await session.summary();
  await session.files.write('a', '2');
  await session.files.write('b', '2');
  const at = `seq:${seq}`;
  const dry = await cli(['files', 'restore', session.id, at, '--dry-run']);
  expect(dry.out).toBe('would change\n  modified a\n  deleted b\n');
  expect(await session.files.list()).toHaveLength(2);
  expect((await cli(['files', 'restore', session.id, at, 'a'])).out).toMatch(
    /^restored with event \d+\n {2}modified a\n$/,
  );
  expect(await json('files', 'restore', session.id, at)).toMatchObject({
    of: { seq },
    changes: [{ change: 'deleted' }],
  });
  expect((await cli(['files', 'restore', session.id, at])).out).toBe('there is nothing to change\n');

  const own = join(folder, 'own');
  mkdirSync(own);
  writeFileSync(join(own, 'mine'), '1');
  const bound = await runtime.sessions.open({ files: { cwd: own } });
  await bound.files.write('mine', '2');
  const first = ['files', 'restore', bound.id, 'seq:3'];
  const mine = async () => Buffer.from(await bound.files.read('mine')).toString();
  expect(await refused(first)).toMatchObject({ exit: 2, message: expect.stringMatching(/works in .*own.*--yes/) });
  const asked: string[] = [];
  expect(await cli(first, saying('n', asked))).toMatchObject({
    code: 1,
    err: expect.stringMatching(/modified mine.*nothing was changed/s),
  });
  expect(asked).toEqual([expect.stringMatching(/\[y \/ n\]/)]);
  expect(await mine()).toBe('2');
  expect((await cli([...first, '--dry-run'])).code).toBe(0);
  expect((await cli(first, saying('y'))).code).toBe(0);
  expect(await mine()).toBe('1');
  await bound.files.write('mine', '3');
  expect((await cli([...first, '--yes'])).code).toBe(0);
  expect(await mine()).toBe('1');
});

test('[FILE38, FILE20, FILE55] files that a restore set aside can be listed, read and copied by the seq of their event', async () => {
  const own = join(folder, 'own');
  mkdirSync(own);
  const session = await runtime.sessions.open({ files: { cwd: own } });
  await session.files.write('a.txt', 'from elsewhere\n');
  writeFileSync(join(own, 'a.txt'), 'by hand\n');
  await session.files.restore({ seq: 1 }, { paths: ['a.txt'] });
  const events = await Array.fromAsync(session.events());
  const seq = String(events.find(({ type }) => type === 'files.conflicted')!.seq);
  expect(await cli(['files', 'cat', session.id, 'a.txt', '--set-aside', seq], pipe)).toMatchObject({
    code: 0,
    out: 'from elsewhere\n',
  });
  expect((await json('files', 'ls', session.id, '--set-aside', `seq:${seq}`)).files).toMatchObject([{ path: 'a.txt' }]);
  const copy = join(folder, 'copy');
  await cli(['files', 'get', session.id, '--set-aside', seq, '--to', copy]);
  expect(readFileSync(join(copy, 'a.txt'), 'utf8')).toBe('from elsewhere\n');
  const ls = (...options: readonly string[]) => refused(['files', 'ls', session.id, ...options]);
  expect(await ls('--set-aside', '1')).toMatchObject({ exit: 5, code: 'POINT_NOT_FOUND' });
  expect(await ls('--set-aside', 'soon')).toMatchObject({ exit: 2 });
  expect(await ls('--set-aside', seq, '--at', '0')).toMatchObject({
    exit: 2,
    message: expect.stringContaining('--at'),
  });
});

test('[FILE38] artifacts can be kept, listed and written to a file', async () => {
  const { id } = await begin();
  const file = join(folder, 'chart.png');
  writeFileSync(file, Buffer.from([137, 0, 255]));
  expect((await cli(['artifacts', id])).out).toBe('there are no artifacts\n');
  expect((await cli(['artifacts', id, '--keep', file])).out).toBe('chart.png  image/png, 3 bytes\n');
  await cli(['artifacts', id, '--keep', '-', '--name', 'notes.md', '--type', 'text/x-notes'], input('hello\n'));
  const { out } = await cli(['artifacts', id], { columns: 80 });
  expect(out).toMatch(/^NAME +TYPE +SIZE +TIME +BY\nchart\.png +image\/png +3 .*\nnotes\.md +text\/x-notes +6 .*\n$/);
  expect((await cli(['artifacts', id, 'chart.png'], pipe)).bytes).toEqual(Buffer.from([137, 0, 255]));
  expect((await cli(['artifacts', id, 'notes.md'])).out).toBe('hello\n');
  const to = join(folder, 'out.png');
  expect(await json('artifacts', id, 'chart.png', '-o', to)).toEqual({ file: to, name: 'chart.png', bytes: 3 });
  expect(await refused(['artifacts', id, 'chart.png', '-o', to])).toMatchObject({ code: 'FILE_UNAVAILABLE' });
  expect((await cli(['artifacts', id, 'notes.md', '-o', to, '--force'])).code).toBe(0);
  expect(readFileSync(to, 'utf8')).toBe('hello\n');
  expect(await refused(['artifacts', id, 'none'])).toMatchObject({
    exit: 5,
    code: 'FILE_NOT_FOUND',
    message: expect.stringMatching(/chart\.png/),
  });
  for (const argv of [
    ['--keep', '-'],
    ['x', '--keep', file],
    ['--name', 'x'],
    ['--out', to],
  ]) {
    expect(await refused(['artifacts', id, ...argv]), argv.join(' ')).toMatchObject({ exit: 2 });
  }
});

test('[CLI1] two-word commands have their own help, and a wrong second word is reported', async () => {
  expect((await callCli(['help', 'files', 'ls'])).out).toMatch(/^perdure files ls SESSION \[PATH\] \[options\]\n/);
  expect((await callCli(['files', 'ls', '--help'])).out).toMatch(/^perdure files ls/);
  for (const argv of [
    ['help', 'files'],
    ['files', '--help'],
    ['-h', 'files'],
  ]) {
    expect((await callCli(argv)).out).toMatch(/perdure files ls .*perdure files get /s);
  }
  const errorOf = async (...argv: readonly string[]) => {
    const { code, err } = await callCli(argv);
    return `${code} ${err.replaceAll('\n', ' ')}`;
  };
  expect(await errorOf('files', 'sl')).toMatch(/^2 .*no command "files sl": did you mean `perdure files ls`\?/);
  expect(await errorOf('files')).toMatch(/^2 .*files needs one of ls, cat, .*: `perdure help files`/);
});
