import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { openSqliteStore } from '../index.ts';
import * as lockProbe from './lock-probe.ts';
import { refuseWithoutLocks } from './refuse-without-locks.ts';

vi.mock('./lock-probe.ts', { spy: true });
beforeEach(() => {
  vi.mocked(lockProbe.probeLocks).mockClear();
});

const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-locks-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return folder;
};
const [nfs, ext4] = [0x6969, 0xef53];

test('[ST25] a child process finds that the locks of this file system work, and no file is left', async () => {
  const folder = newFolder();
  expect(await lockProbe.probeLocks(folder)).toBe('works');
  expect(readdirSync(folder)).toEqual([]);
  expect(await lockProbe.probeLocks(join(folder, 'missing'))).toBe('unknown');
});

test('[ST25] a new store on a file system without locks is refused with advice, and nothing is created', async () => {
  const folder = newFolder();
  const file = join(folder, 'perdure.db');
  vi.mocked(lockProbe.probeLocks).mockResolvedValueOnce('missing').mockResolvedValueOnce('missing');
  for (let tries = 0; tries < 2; tries++) {
    const failed = await openSqliteStore({ file }).catch((error: unknown) => error);
    expect(failed).toMatchObject({ code: 'STORE_UNAVAILABLE', details: { file, folder } });
    expect(failed).toMatchObject({ message: expect.stringMatching(/has no locks .*local disk.*PostgreSQL/) });
    expect(existsSync(file)).toBe(false);
  }
});

test('[ST25] the locks are tried once in a process, when a store is created', async () => {
  const file = join(newFolder(), 'perdure.db');
  for (let opened = 0; opened < 3; opened++) await (await openSqliteStore({ file })).close();
  await (await openSqliteStore({ file: join(file, '..', 'other.db') })).close();
  expect(lockProbe.probeLocks).toHaveBeenCalledTimes(1);
});

test('[ST25] an existing store is tried once per process on a remote file system, and never on a local one', async () => {
  const file = join(newFolder(), 'perdure.db');
  const probe = vi.fn(async () => 'missing' as 'missing' | 'works');
  const deviceOf = async () => -1;
  await refuseWithoutLocks(file, false, { typeOf: async () => ext4, deviceOf, probe });
  expect(probe).not.toHaveBeenCalled();
  const remote = { typeOf: async () => nfs, deviceOf, probe };
  await expect(refuseWithoutLocks(file, false, remote)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  probe.mockResolvedValue('works');
  for (let opened = 0; opened < 2; opened++) await refuseWithoutLocks(file, false, remote);
  expect(probe).toHaveBeenCalledTimes(2);
});
