import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockPlace, tryLock } from './place-lock.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-lock-'));
});
afterEach(() => rmSync(folder, { recursive: true }));
const place = () => ({ folder, lockFile: join(folder, 'lock') });

test('[FILE48] only one process can lock a place, and waiting too long fails with an error that says what to do', async () => {
  const first = (await tryLock(place()))!;
  expect(await tryLock(place())).toBeUndefined();
  await expect(lockPlace(place(), 0)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('send again'),
  });
  const second = lockPlace(place());
  first[Symbol.dispose]();
  (await second)[Symbol.dispose]();
});

test('[FILE48] a killed process releases its lock', async () => {
  const source = `
    const { DatabaseSync } = require('node:sqlite');
    new DatabaseSync(${JSON.stringify(place().lockFile)}).exec('BEGIN EXCLUSIVE');
    console.log('locked');
    setInterval(() => {}, 1000);`;
  const holder = spawn(process.execPath, ['-e', source], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(holder.stdout, 'data');
  expect(await tryLock(place())).toBeUndefined();
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  using lock = await tryLock(place());
  expect(lock).toBeDefined();
});
