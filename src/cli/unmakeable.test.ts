import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { callCli, callCliOn } from '../../test/call-cli.ts';
import { newMemoryDatabase } from '../testing/memory-database.ts';

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
