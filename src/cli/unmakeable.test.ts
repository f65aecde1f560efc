import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { callCli, callCliOn } from '../../test/support/cli/call-cli.ts';
import type { Session } from '../core/runtime/session.ts';
import { newMemoryDatabase } from '../testing/memory-database.ts';
import { copyHere } from './files/copy-here.ts';

test.runIf(existsSync('/proc/self'))('[CLI1] a folder that cannot be created is reported immediately', async () => {
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open'])).out.trim();
  const columns = Number.POSITIVE_INFINITY;
  expect(await callCliOn(database, ['files', 'get', id, '--to', '/proc/x'], { columns })).toMatchObject({
    code: 1,
    err: expect.stringMatching(/^error FILE_UNAVAILABLE: \/proc\/x cannot be made .*: name a new or empty folder$/m),
  });
  expect(await callCli(['demo', '--in', '/proc/x'], { columns })).toMatchObject({
    code: 1,
    err: expect.stringMatching(
      /^error FILE_UNAVAILABLE: cannot write \/proc\/x .*: --in names a new or empty folder$/m,
    ),
  });
  expect(await callCli(['open', '--store', 'sqlite:/proc/x/a.db'], { columns })).toMatchObject({
    code: 8,
    err: expect.stringMatching(/^error STORE_UNAVAILABLE: \/proc\/x\/a.db: .*; check that its disk is available/m),
  });
});

test('[CLI1] a file in place of a folder is named in the error', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-unmakeable-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'afile');
  writeFileSync(file, '');
  const columns = Number.POSITIVE_INFINITY;
  const why = `${file} is a file, not a folder`;
  for (const path of [join(file, 'x.db'), join(file, 'sub', 'x.db')]) {
    expect(await callCli(['open', '--store', `sqlite:${path}`], { columns })).toMatchObject({
      code: 8,
      err: `error STORE_UNAVAILABLE: ${path}: ${why}; name a file in a folder\n`,
    });
  }
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open'])).out.trim();
  expect(await callCliOn(database, ['files', 'get', id, '--to', file], { columns })).toMatchObject({
    code: 1,
    err: `error FILE_UNAVAILABLE: ${file} cannot be made (${why}): name a new or empty folder\n`,
  });
  const served = { files: { list: async () => [] } } as unknown as Session;
  await expect(copyHere(served, file, {})).rejects.toMatchObject({ message: `cannot write ${file}: ${why}` });
});

const columns = Number.POSITIVE_INFINITY;

/** A file, a folder, a link to a missing target, and a link to itself. */
const obstacles = () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-obstacles-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, full, nowhere, circle] = ['afile', 'full', 'nowhere', 'circle'].map((name) => join(folder, name));
  writeFileSync(file!, '');
  mkdirSync(join(full!, 'sub'), { recursive: true });
  symlinkSync('gone', nowhere!);
  symlinkSync('circle', circle!);
  return { file: file!, full: full!, nowhere: nowhere!, circle: circle! };
};

test('[CLI1] an error about an impossible folder says in words what is in its place', async () => {
  const { file, nowhere, circle } = obstacles();
  const inTheWay = { [file]: 'a file', [nowhere]: 'a link to nothing', [circle]: 'a link to nothing' };
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open'])).out.trim();
  vi.stubEnv('PERDURE_MASTER_KEY_FILE', '');
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const [path, what] of Object.entries(inTheWay)) {
    const why = `${path} is ${what}, not a folder`;
    for (const folder of [path, join(path, 'sub')]) {
      expect(await callCli(['demo', '--in', folder], { columns })).toMatchObject({
        code: 1,
        err: `error FILE_UNAVAILABLE: cannot write ${folder} (${why}): --in names a new or empty folder\n`,
      });
      expect(await callCliOn(database, ['files', 'get', id, '--to', folder], { columns })).toMatchObject({
        code: 1,
        err: `error FILE_UNAVAILABLE: ${folder} cannot be made (${why}): name a new or empty folder\n`,
      });
      vi.stubEnv('PERDURE_DATA', folder);
      expect(await callCliOn(database, ['vault', 'init'], { columns })).toMatchObject({
        code: 1,
        err: expect.stringContaining(`error FILE_UNAVAILABLE: cannot write ${join(folder, 'master.key')}: ${why}\n`),
      });
    }
  }
});

test('[CLI16] an error about an impossible file says in words what is in its place', async () => {
  const { file, full, circle } = obstacles();
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open'])).out.trim();
  const errorOf = async (...argv: readonly string[]) =>
    (await callCliOn(database, argv, { columns })).err.split('\n')[0];
  const cannot = (verb: string, path: string, why: string) => `error FILE_UNAVAILABLE: cannot ${verb} ${path}: ${why}`;
  const inCircle = 'its symbolic links form a loop';
  expect(await errorOf('import', circle)).toBe(cannot('read', circle, inCircle));
  expect(await errorOf('export', id, '-o', circle)).toBe(cannot('write', circle, inCircle));
  expect(await errorOf('export', id, '-o', full)).toBe(`error FILE_UNAVAILABLE: ${full} is a folder: -o names a file`);
  const server = ['--server', 'http://127.0.0.1:1'];
  expect((await callCli(['ls', ...server, '--key-file', full], { columns })).err).toContain(
    cannot('read', full, 'it is a folder'),
  );
  expect(await callCli(['open', '--store', `sqlite:${circle}`], { columns })).toMatchObject({
    code: 8,
    err: expect.stringContaining(`error STORE_UNAVAILABLE: ${circle}: ${inCircle}; check that`),
  });
  for (const [path, why] of [
    [circle, inCircle],
    [join(circle, 'x.db'), inCircle],
    ['x'.repeat(300), 'its name is too long'],
  ] as const) {
    expect(await callCli(['ls', '--store', `sqlite:${path}`], { columns })).toMatchObject({
      code: 8,
      err: `error STORE_UNAVAILABLE: cannot read ${path}: ${why}; check that this user can read and write it and its folder, or name another with --store\n`,
    });
  }
  vi.stubEnv('PERDURE_MASTER_KEY_FILE', full);
  onTestFinished(() => void vi.unstubAllEnvs());
  const secret = {
    columns,
    stdin: async function* () {
      yield Buffer.from('x'.repeat(20));
    },
  };
  const locked = async () => (await callCliOn(database, ['vault', 'set', 'a'], secret)).err.split('\n')[0];
  chmodSync(full, 0o700);
  expect(await locked()).toBe(`error VAULT_LOCKED: the vault is locked: ${full} cannot be read (it is a folder)`);
  vi.stubEnv('PERDURE_MASTER_KEY_FILE', join(file, 'key'));
  expect(await locked()).toBe(
    `error VAULT_LOCKED: the vault is locked: ${join(file, 'key')} cannot be read (a part of its path is not a folder)`,
  );
});

test.each([
  ['demo', '--in', 'folder'],
  ['open', '--from', 'folder'],
  ['open', '--cwd', 'folder'],
  ['files get -', '--to', 'folder'],
  ['export -', '-o', 'file'],
  ['send - hello', '--file', 'file'],
  ['artifacts -', '--keep', 'file'],
  ['ls', '--key-file', 'file'],
])('[CLI16] an empty name is refused: %s %s', async (call, option, what) => {
  const name = option === '-o' ? '--output' : option;
  expect(await callCli([...call.split(' '), option, ''], { columns })).toMatchObject({
    code: 2,
    err: `error INVALID_INPUT: ${name} names no ${what}: name one\n`,
  });
});

test('[CLI1] an empty argument for a file is refused', async () => {
  for (const call of [
    ['import', ''],
    ['files', 'put', '-', 'a.txt', ''],
  ]) {
    expect(await callCli(call, { columns })).toMatchObject({
      code: 2,
      err: 'error INVALID_INPUT: FILE is empty: name one\n',
    });
  }
});
