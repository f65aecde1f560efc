import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';
import { openSqliteStore, type SqliteOptions } from '../../../src/stores/sqlite/index.ts';

/** A path of its own for the test that asks; what is there goes with the test. */
export const newSqliteFile = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-sqlite-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, 'perdure.db');
};

/** Closed with the test at the latest. */
export const openSqlite = async (file: string, options: Omit<SqliteOptions, 'file'> = {}): Promise<RuntimeStore> => {
  const store = await openSqliteStore({ file, ...options });
  onTestFinished(() => store.close());
  return store;
};
