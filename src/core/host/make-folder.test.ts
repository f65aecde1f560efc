import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder, makePrivateFolder } from './make-folder.ts';

const root = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-make-folder-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

test('makeFolder creates missing parents, and may run repeatedly and concurrently', async () => {
  const folder = join(root(), 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(folder, 0o700)));
  await makeFolder(folder);
  for (const each of [folder, join(folder, '..'), join(folder, '..', '..')]) {
    expect(statSync(each).mode & 0o777).toBe(0o700);
  }
});

test('[ST9] makePrivateFolder restricts only the new folder, not its parents or existing folders', async () => {
  const before = process.umask(0o022);
  onTestFinished(() => void process.umask(before));
  const above = join(root(), 'a', 'b');
  await Promise.all(Array.from({ length: 8 }, () => makePrivateFolder(join(above, 'c'))));
  await makePrivateFolder(above);
  expect([join(above, 'c'), above].map((each) => statSync(each).mode & 0o777)).toEqual([0o700, 0o755]);
});

test('makeFolder at or below a file fails with an error that names the file', async () => {
  const file = join(root(), 'file');
  writeFileSync(file, '');
  for (const folder of [file, join(file, 'a'), join(file, 'a', 'b')]) {
    await expect(makeFolder(folder)).rejects.toMatchObject({
      code: 'ENOTDIR',
      message: `${file} is a file, not a folder`,
    });
  }
});

test.runIf(existsSync('/proc/self'))(
  'makeFolder in /proc, which accepts no folders, fails instead of looping forever',
  async () => {
    await expect(makeFolder('/proc/x/y')).rejects.toMatchObject({ code: expect.stringMatching(/ENOENT|EACCES|EPERM/) });
  },
);
