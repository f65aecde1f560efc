import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { callCli, callCliOn } from '../../test/call-cli.ts';
import type { Session } from '../core/service/session.ts';
import { newMemoryDatabase } from '../testing/memory-database.ts';
import { copyHere } from './files/copy-here.ts';

test.runIf(existsSync('/proc/self'))('[CLI1] where no folder can be made, nobody waits for one', async () => {
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
    err: expect.stringMatching(/^error STORE_UNAVAILABLE: \/proc\/x\/a.db: .*; check that its disk is there/m),
  });
});

test('[CLI1] where a file stands in place of a folder, it is named', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-unmakeable-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, 'afile');
  writeFileSync(file, '');
  const columns = Number.POSITIVE_INFINITY;
  const told = `${file} is a file, not a folder`;
  for (const path of [join(file, 'x.db'), join(file, 'sub', 'x.db')]) {
    expect(await callCli(['open', '--store', `sqlite:${path}`], { columns })).toMatchObject({
      code: 8,
      err: `error STORE_UNAVAILABLE: ${path}: ${told}; name a file in a folder\n`,
    });
  }
  const database = newMemoryDatabase();
  const id = (await callCliOn(database, ['open'])).out.trim();
  expect(await callCliOn(database, ['files', 'get', id, '--to', file], { columns })).toMatchObject({
    code: 1,
    err: `error FILE_UNAVAILABLE: ${file} cannot be made (${told}): name a new or empty folder\n`,
  });
  const served = { files: { list: async () => [] } } as unknown as Session;
  await expect(copyHere(served, file, {})).rejects.toMatchObject({ message: `cannot write ${file}: ${told}` });
});
