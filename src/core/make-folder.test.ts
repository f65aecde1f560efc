import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { makeFolder } from './make-folder.ts';

const root = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-make-folder-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};

test('a folder is made with those above it, several times and by several at once', async () => {
  const folder = join(root(), 'a', 'b', 'c');
  await Promise.all(Array.from({ length: 8 }, () => makeFolder(folder, 0o700)));
  await makeFolder(folder);
  for (const each of [folder, join(folder, '..'), join(folder, '..', '..')]) {
    expect(statSync(each).mode & 0o777).toBe(0o700);
  }
});

test('where a file stands, and below it, none can be made, and the file is named', async () => {
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
  'below a folder that takes none it fails in place of asking without end',
  async () => {
    await expect(makeFolder('/proc/x/y')).rejects.toMatchObject({ code: expect.stringMatching(/ENOENT|EACCES|EPERM/) });
  },
);
