import { lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ToolFailure } from '../../core/ports/tool.ts';

const keptMs = 24 * 60 * 60 * 1000;
const sweepMs = 10 * 60 * 1000;
const sweptAt = new Map<string, number>();

/** Not from the system's list of users, which does not name every user of a container. */
const ownUid = (): number => process.getuid?.() ?? -1;

/** A local folder, because a record is useless on another machine, which does not have the command's processes. */
export const defaultRecordsFolder = (): string => join(tmpdir(), `perdure-commands-${ownUid()}`);

/** Checks the owner, because another user could have created the folder in the shared temporary folder first. */
const assertOurs = (folder: string): void => {
  const uid = ownUid();
  const stats = lstatSync(folder);
  if (stats.isDirectory() && (uid === -1 || (stats.uid === uid && (stats.mode & 0o077) === 0))) return;
  throw new ToolFailure(
    `${folder} is not private to this user: remove it, or set another recordsFolder for the shell tool`,
  );
};

/** Creates the folder, and removes records that no runner has waited for in a day. */
export const prepareRecords = (folder: string): void => {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  assertOurs(folder);
  if (performance.now() - (sweptAt.get(folder) ?? Number.NEGATIVE_INFINITY) < sweepMs) return;
  sweptAt.set(folder, performance.now());
  for (const name of readdirSync(folder)) {
    const lease = statSync(join(folder, name, 'lease'), { throwIfNoEntry: false });
    if (lease && Date.now() - lease.mtimeMs > keptMs) rmSync(join(folder, name), { recursive: true, force: true });
  }
};
