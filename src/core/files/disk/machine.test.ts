import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { isThisMachine, thisMachine } from './machine.ts';

vi.mock(import('node:os'), async (original) => ({ ...(await original()), hostname: vi.fn(() => 'twin') }));

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-machine-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

test('[FILE29] a machine keeps its id when its hostname changes, and differs from others with that hostname', async () => {
  const [one, two] = [join(folder, 'one'), join(folder, 'two')];
  const machine = await thisMachine(one);
  expect(await thisMachine(two)).not.toBe(machine);
  vi.mocked(hostname).mockReturnValueOnce('renamed');
  expect(await thisMachine(one)).toBe(machine);
  expect(await isThisMachine(one, machine)).toBe(true);
  expect(await isThisMachine(two, machine)).toBe(false);
});

test('[FILE29, ST9] concurrent processes get the same machine id in a private folder, and isThisMachine creates nothing', async () => {
  const data = join(folder, 'data');
  expect(await isThisMachine(data, 'twin')).toBe(false);
  expect(readdirSync(folder)).toEqual([]);
  const machines = await Promise.all(Array.from({ length: 20 }, () => thisMachine(data)));
  expect(new Set(machines).size).toBe(1);
  expect(statSync(data).mode & 0o777).toBe(0o700);
  expect(readdirSync(data)).toEqual(['machine']);
});

test('[CLI1] the error for a file in place of the data folder names the file and the next step', async () => {
  const file = join(folder, 'afile');
  writeFileSync(file, '');
  await expect(thisMachine(file)).rejects.toMatchObject({
    code: 'FILE_UNAVAILABLE',
    message: `the data folder ${file} cannot be used: ${file} is a file, not a folder; set PERDURE_DATA, or data of the configuration, to another`,
  });
  expect(await isThisMachine(file, 'any')).toBe(false);
});
