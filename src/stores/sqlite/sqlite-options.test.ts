import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { newSqliteFile } from '../../../test/sqlite-file.ts';
import { openSqliteStore } from './index.ts';

test('[IN1] openSqliteStore refuses options that it does not know, and no options at all', async () => {
  const file = newSqliteFile();
  for (const options of [{ file, bussyTimeoutMs: 3 }, { file, fallbackPollMS: 1 }, null, undefined, 'file']) {
    await expect(openSqliteStore(options as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  }
});

test.each([
  ['busyTimeoutMs', 0],
  ['fallbackPollMs', 1],
])('[IN1] a %s that is no whole number from %i on is refused, and no file is made', async (name, least) => {
  const file = newSqliteFile();
  for (const ms of [Number.NaN, 0.5, -1, least - 1]) {
    await expect(openSqliteStore({ file, [name]: ms })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: `${name} must be a whole number of milliseconds, at least ${least}; got "${ms}"`,
    });
  }
  expect(existsSync(file)).toBe(false);
});
