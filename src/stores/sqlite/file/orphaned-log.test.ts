import { copyFileSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import type { SessionKey } from '../../../core/ports/store.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { expectSound, openSession } from '../../../testing/contract/log/session-log.ts';

/** Leaves a write-ahead log behind, like a killed process. It alone holds all acknowledged events. */
const leaveLog = async (): Promise<{ file: string; key: SessionKey; putBack: () => void }> => {
  const [open, file] = [newSqliteFile(), newSqliteFile()];
  const store = await openSqlite(open);
  const key = newKey();
  await openSession(store, key);
  copyFileSync(`${open}-wal`, `${file}-wal`);
  const bytes = readFileSync(open);
  await store.close();
  return { file, key, putBack: () => writeFileSync(file, bytes) };
};

const expectRefused = async (file: string): Promise<void> => {
  const message = expect.stringContaining('put the file back');
  await expect(openSqlite(file)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', message });
};

test('[FAULT7] a write-ahead log without its database file is kept, and its events are readable when the file is back', async () => {
  const { file, key, putBack } = await leaveLog();
  await expectRefused(file);
  putBack();
  expect(await expectSound(await openSqlite(file), key)).toHaveLength(1);
});

test('[FAULT4] a write-ahead log beside an empty database file is kept', async () => {
  const { file, key, putBack } = await leaveLog();
  writeFileSync(file, '');
  await expectRefused(file);
  putBack();
  expect(await expectSound(await openSqlite(file), key)).toHaveLength(1);
});

test('[FAULT4] a write-ahead log without its database file is kept when the file is opened through a symbolic link', async () => {
  const { file, key, putBack } = await leaveLog();
  const link = newSqliteFile();
  symlinkSync(file, link);
  await expectRefused(link);
  putBack();
  expect(await expectSound(await openSqlite(link), key)).toHaveLength(1);
});

test('[FAULT4] if the write-ahead log was moved away too, a new store is created', async () => {
  const { file, key } = await leaveLog();
  rmSync(`${file}-wal`);
  const store = await openSqlite(file);
  expect(await store.head(key)).toBeUndefined();
});
