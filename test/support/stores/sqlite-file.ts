import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';
import { openSqliteStore, type SqliteOptions } from '../../../src/stores/sqlite/index.ts';

/** A new path for a database; its folder is removed after the test. */
export const newSqliteFile = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-sqlite-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'perdure.db');
};

/** Opens a store and closes it after the test, if the test did not. */
export const openSqlite = async (file: string, options: Omit<SqliteOptions, 'file'> = {}): Promise<RuntimeStore> => {
  const store = await openSqliteStore({ file, ...options });
  onTestFinished(() => store.close());
  return store;
};
