import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { newSqliteFile } from '../../../test/support/stores/sqlite-file.ts';
import { openSqliteStore } from './index.ts';

test('[IN1] openSqliteStore rejects unknown options, and missing options', async () => {
  const file = newSqliteFile();
  for (const options of [{ file, bussyTimeoutMs: 3 }, { file, fallbackPollMS: 1 }, null, undefined, 'file']) {
    await expect(openSqliteStore(options as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  }
});

test.each([
  ['busyTimeoutMs', 0],
  ['fallbackPollMs', 1],
])('[IN1] a %s that is not a whole number of at least %i is rejected, and no file is created', async (name, least) => {
  const file = newSqliteFile();
  for (const ms of [Number.NaN, 0.5, -1, least - 1]) {
    await expect(openSqliteStore({ file, [name]: ms })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
      message: `${name} must be a whole number of milliseconds, at least ${least}; got "${ms}"`,
    });
  }
  expect(existsSync(file)).toBe(false);
});
