import { existsSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import type { RuntimeStore } from '../../../core/ports/runtime-store.ts';
import type { SessionKey } from '../../../core/ports/store.ts';
import { newKey } from '../../../testing/contract/contract-setup.ts';
import { rawText } from '../../../testing/contract/log/new-events.ts';
import { append, expectSound, mustAppend, openSession } from '../../../testing/contract/log/session-log.ts';

const begin = async (file: string): Promise<{ store: RuntimeStore; key: SessionKey }> => {
  const store = await openSqlite(file);
  const key = newKey();
  await openSession(store, key);
  return { store, key };
};

const expectRefused = async (store: RuntimeStore, key: SessionKey): Promise<void> => {
  const record = { kind: 'member', id: 'a', onVersion: 0, body: {} } as const;
  const refused = await Promise.allSettled([
    append(store, key, [rawText('a')]),
    append(store, key, [rawText('b')]),
    store.writeRecords(key.workspace, [record]),
  ]);
  const reason = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('deleted or replaced') };
  expect(refused).toMatchObject(refused.map(() => ({ status: 'rejected', reason })));
};

const moveAll = (from: string, to: string): void => {
  for (const end of ['', '-wal', '-shm']) if (existsSync(from + end)) renameSync(from + end, to + end);
};

describe('a file that vanishes while the store is open', () => {
  test('[FAULT4] after the file is deleted, no append is acknowledged, and the store can be closed', async () => {
    const file = newSqliteFile();
    const { store, key } = await begin(file);
    rmSync(file);
    await expectRefused(store, key);
    await expect(openSession(store, newKey())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', details: { file } });
    await store.close();
    expect(existsSync(file)).toBe(false);
  });

  test('[FAULT4, FAULT1] while the file is moved away appends fail, and after it is back nothing is lost or added', async () => {
    const [file, elsewhere] = [newSqliteFile(), newSqliteFile()];
    const { store, key } = await begin(file);
    moveAll(file, elsewhere);
    await expectRefused(store, key);
    moveAll(elsewhere, file);
    await mustAppend(store, key, [rawText('c')]);
    await store.close();
    expect(await expectSound(await openSqlite(file), key)).toHaveLength(2);
  });

  test('[FAULT4] after the file is replaced, neither file gets the append, and the new one stays intact', async () => {
    const [file, elsewhere] = [newSqliteFile(), newSqliteFile()];
    const { store, key } = await begin(file);
    const other = await begin(elsewhere);
    await other.store.close();
    renameSync(elsewhere, file);
    await expectRefused(store, key);
    await store.close();
    const reopened = await openSqlite(file);
    expect(await expectSound(reopened, other.key)).toHaveLength(1);
    expect(await reopened.head(key)).toBeUndefined();
  });

  test('[FAULT4] after the write-ahead log is deleted, appends fail, and acknowledged events are still there after closing', async () => {
    const file = newSqliteFile();
    const { store, key } = await begin(file);
    rmSync(`${file}-wal`);
    await expectRefused(store, key);
    await store.close();
    expect(await expectSound(await openSqlite(file), key)).toHaveLength(1);
  });

  test('[FAULT4] if the file is deleted before the first append, no new file takes its place', async () => {
    const file = newSqliteFile();
    const store = await openSqlite(file);
    rmSync(file);
    await expect(openSession(store, newKey())).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    expect(existsSync(file)).toBe(false);
  });

  test('[FAULT4] when a symbolic link changes its target, appends fail', async () => {
    const [file, link] = [newSqliteFile(), newSqliteFile()];
    symlinkSync(file, link);
    const { store, key } = await begin(link);
    await begin(file);
    const other = newSqliteFile();
    await (await begin(other)).store.close();
    rmSync(link);
    symlinkSync(other, link);
    await expectRefused(store, key);
  });

  test('[FAULT4] a write-ahead log that a checkpoint truncated is still recognized as the same file', async () => {
    const file = newSqliteFile();
    const { store, key } = await begin(file);
    const before = statSync(`${file}-wal`).ino;
    await (await begin(file)).store.close();
    await mustAppend(store, key, [rawText('a')]);
    expect(statSync(`${file}-wal`).ino).toBe(before);
  });
});
