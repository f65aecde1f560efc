import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { callCli, callCliOn } from '../../test/call-cli.ts';
import { newMemoryDatabase } from '../testing/memory-database.ts';
import { refuseUnmakeable } from './refuse-unmakeable.ts';

test('[CLI1] a folder that can be made is not, and one that cannot is told', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-unmakeable-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'file'), '');
  await refuseUnmakeable(folder);
  await refuseUnmakeable(join(folder, 'a', 'b'));
  expect(readdirSync(folder)).toEqual(['file']);
  await expect(refuseUnmakeable(join(folder, 'file', 'a'))).rejects.toMatchObject({ code: 'FILE_UNAVAILABLE' });
});

test.runIf(existsSync('/proc/self'))('[CLI1] where no folder can be made, nobody waits for one', async () => {
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open'])).out.trim();
  const calls = [
    callCliOn(database, ['files', 'get', id, '--to', '/proc/x']),
    callCli(['demo', '--in', '/proc/x']),
    callCli(['open', '--store', 'sqlite:/proc/x/a.db']),
  ];
  for (const { code, err } of await Promise.all(calls)) {
    expect(code).toBe(1);
    expect(err.replaceAll('\n', ' ')).toMatch(
      /^error FILE_UNAVAILABLE: cannot write \/proc\/x: no folder can be made in \/proc \(\w+\); name another/,
    );
  }
});
