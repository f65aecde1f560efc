import { beforeEach, expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import { type MemoryDatabase, newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';

let database: MemoryDatabase;
beforeEach(() => {
  database = newMemoryDatabase();
});

const cli = (...argv: readonly string[]) =>
  callCli([...argv, '--store', 'memory'], {
    openRuntime: (options) => openRuntime({ ...options, store: openMemoryStore(database) }),
  });

test('[QUO13, QUO12] quotas are set, listed and removed on the command line', async () => {
  expect(await cli('workspaces', 'quota', 'local', '--sessions', '1', '--usd-per-month', '2.5')).toMatchObject({
    code: 0,
    out: 'the quota of local is 1 sessions; 2.5 USD per month\n',
  });
  await cli('quotas', 'set', '--tokens-per-day', '1000', '--model', 'test/a', '--model', 'test/b');
  expect((await cli('quotas', 'set', 'ann', '--runs', '4')).out).toBe('the quota of ann is 4 runs at once\n');
  await cli('open');
  const { out } = await cli('quotas', 'ls');
  expect(out.split('\n').map((line) => line.trim().split(/ {2,}/))).toEqual([
    ['QUOTA OF', 'LIMIT', 'USED', 'AT MOST'],
    ['workspace', 'sessions', '1', '1'],
    ['workspace', 'USD per month', '0', '2.5'],
    ['members', 'tokens per day', '1000'],
    ['members', 'models', 'test/a, test/b'],
    ['ann', 'runs at once', '4'],
    [''],
  ]);
  expect((await cli('quotas', 'mine')).out).toMatch(/you +tokens per day +0 +1000/);
  expect(await cli('open')).toMatchObject({ code: 8, err: expect.stringContaining('perdure workspaces quota local') });
  expect((await cli('quotas', 'rm', 'ann')).out).toBe('the quota of ann is removed\n');
  expect((await cli('workspaces', 'quota', 'local', '--none')).out).toBe('local has no quota\n');
  expect(await cli('open')).toMatchObject({ code: 0 });
  for (const wrong of [['set'], ['set', '--runs', 'many'], ['set', '--usd-per-day', '-1']]) {
    expect(await cli('quotas', ...wrong)).toMatchObject({ code: 2 });
  }
});
