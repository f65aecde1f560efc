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

const createStore = async (file: string): Promise<void> => {
  const store = await openSqlite(file);
  await store.putBlobs('local' as never, []);
};

test('[ST9] a new store, its folder and the files beside it are accessible only to their user', async () => {
  withUmask(0o022);
  const top = dirname(newSqliteFile());
  const folder = join(top, 'above', 'data');
  await Promise.all(Array.from({ length: 3 }, () => createStore(join(folder, 'some.db'))));
  expect(modeOf(join(top, 'above'))).toBe(0o755);
  expect(modeOf(folder)).toBe(0o700);
  const made = readdirSync(folder);
  expect(made.toSorted()).toEqual(['some.db', 'some.db-shm', 'some.db-wal']);
  for (const name of made) expect(modeOf(join(folder, name)), name).toBe(0o600);
});

test('[ST9] a store created at the target of a symbolic link is private too', async () => {
  withUmask(0o022);
  const link = newSqliteFile();
  symlinkSync('elsewhere.db', link);
  await createStore(link);
  for (const end of ['', '-wal']) expect(modeOf(join(dirname(link), `elsewhere.db${end}`))).toBe(0o600);
});

test('[ST9] a stricter umask is respected', async () => {
  const file = newSqliteFile();
  withUmask(0o277);
  await createStore(file).catch(() => undefined); // only root can write to it
  expect(modeOf(file)).toBe(0o400);
});

test('[ST9] the modes of existing files and folders stay unchanged, so that a group can share a store', async () => {
  withUmask(0o022);
  const top = dirname(newSqliteFile());
  const folder = join(top, 'shared');
  mkdirSync(folder);
  chmodSync(folder, 0o2770);
  const file = join(folder, 'perdure.db');
  writeFileSync(file, '');
  chmodSync(file, 0o660);
  await createStore(file);
  expect(statSync(folder).mode & 0o7777).toBe(0o2770);
  for (const name of readdirSync(folder)) expect(modeOf(join(folder, name)), name).toBe(0o660);
});

test.runIf(process.getuid?.() === 0)('[ST9] another user cannot read a store', async () => {
  withUmask(0o022);
  const top = dirname(newSqliteFile());
  chmodSync(top, 0o755);
  const alone = join(top, 'alone.db');
  await createStore(join(top, 'data', 'perdure.db'));
  await createStore(alone);
  for (const path of [join(top, 'data'), join(top, 'data', 'perdure.db'), alone, `${alone}-wal`]) {
    const { status, stderr } = spawnSync('cat', [path], { uid: 65534, gid: 65534, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 1, stderr: expect.stringContaining('Permission denied') });
  }
});
