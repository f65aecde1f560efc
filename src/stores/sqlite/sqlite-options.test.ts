import { expect, test } from 'vitest';
import { newSqliteFile } from '../../../test/sqlite-file.ts';
import { openSqliteStore } from './index.ts';

test('[IN1] openSqliteStore refuses options that it does not know, and no options at all', async () => {
  const file = newSqliteFile();
  for (const options of [{ file, bussyTimeoutMs: 3 }, { file, fallbackPollMS: 1 }, null, undefined, 'file']) {
    await expect(openSqliteStore(options as never)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  }
});
