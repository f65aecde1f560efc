import { mkdirSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { fileURLToPath } from 'node:url';

/** Moves temporary files off an in-memory file system, where syncing would cost nothing. */
export const leaveMemoryFileSystems = (): void => {
  const tmpfs = 0x01021994;
  if (statfsSync(tmpdir()).type !== tmpfs) return;
  process.env.TMPDIR = fileURLToPath(new URL('../.perdure/bench', import.meta.url));
  mkdirSync(process.env.TMPDIR, { recursive: true });
};
