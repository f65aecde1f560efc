import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Vitest's global setup: puts the worktrees of all tests outside the checkout. */
export const setup = async (): Promise<() => Promise<void>> => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-data-'));
  process.env.PERDURE_DATA = folder;
  return () => rm(folder, { recursive: true, force: true });
};
