import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../test/support/stores/sqlite-file.ts';

const modeOf = (path: string): number => statSync(path).mode & 0o777;

const withUmask = (mask: number): void => {
  const before = process.umask(mask);
  onTestFinished(() => void process.umask(before));
};

const keepSomething = async (file: string): Promise<void> => {
  const store = await openSqlite(file);
  await store.putBlobs('local' as never, []);
};

test('[ST9] a store is made for its user alone, with its folder and all that stands beside it', async () => {
  withUmask(0o022);
  const top = dirname(newSqliteFile());
  const folder = join(top, 'above', 'data');
  await Promise.all(Array.from({ length: 3 }, () => keepSomething(join(folder, 'some.db'))));
  expect(modeOf(join(top, 'above'))).toBe(0o755);
  expect(modeOf(folder)).toBe(0o700);
  const made = readdirSync(folder);
  expect(made.toSorted()).toEqual(['some.db', 'some.db-shm', 'some.db-wal']);
  for (const name of made) expect(modeOf(join(folder, name)), name).toBe(0o600);
});

test('[ST9] one that is made where a link leads is private too', async () => {
  withUmask(0o022);
  const link = newSqliteFile();
  symlinkSync('elsewhere.db', link);
  await keepSomething(link);
  for (const end of ['', '-wal']) expect(modeOf(join(dirname(link), `elsewhere.db${end}`))).toBe(0o600);
});

test('[ST9] a stricter umask stays', async () => {
  const file = newSqliteFile();
  withUmask(0o277);
  await keepSomething(file).catch(() => undefined); // only root can write to it
  expect(modeOf(file)).toBe(0o400);
});

test('[ST9] what is there stays as it is, so that a group can share a store that it made for itself', async () => {
  withUmask(0o022);
  const top = dirname(newSqliteFile());
  const folder = join(top, 'shared');
  mkdirSync(folder);
  chmodSync(folder, 0o2770);
  const file = join(folder, 'perdure.db');
  writeFileSync(file, '');
  chmodSync(file, 0o660);
  await keepSomething(file);
  expect(statSync(folder).mode & 0o7777).toBe(0o2770);
  for (const name of readdirSync(folder)) expect(modeOf(join(folder, name)), name).toBe(0o660);
});

test.runIf(process.getuid?.() === 0)('[ST9] another user cannot read it', async () => {
  withUmask(0o022);
  const top = dirname(newSqliteFile());
  chmodSync(top, 0o755);
  const alone = join(top, 'alone.db');
  await keepSomething(join(top, 'data', 'perdure.db'));
  await keepSomething(alone);
  for (const path of [join(top, 'data'), join(top, 'data', 'perdure.db'), alone, `${alone}-wal`]) {
    const { status, stderr } = spawnSync('cat', [path], { uid: 65534, gid: 65534, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('Permission denied') });
  }
});
