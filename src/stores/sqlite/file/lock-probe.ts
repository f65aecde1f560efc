import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { closeSync, openSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/** What a try of the locks in a folder found. `unknown` means that it could not be tried. */
export type LockVerdict = 'works' | 'missing' | 'unknown';

/** Tries to take the lock that this process holds. It prints what happened, because an exit code may mean anything. */
const childSource = `
const { DatabaseSync } = require('node:sqlite');
try {
  new DatabaseSync(process.argv[1], { timeout: 0 }).exec('BEGIN EXCLUSIVE');
  console.log('taken');
} catch (error) {
  console.log((error.errcode & 0xff) === 5 ? 'busy' : 'failed');
}`;
const childMs = 10_000;

const verdictOf: Readonly<Record<string, LockVerdict>> = { busy: 'works', taken: 'missing' };

const tryInChild = (file: string): Promise<LockVerdict> =>
  new Promise((resolve) => {
    // The options of this process may load code that the child does not need. Electron is Node only if told to be.
    const env = { ...process.env, NODE_OPTIONS: '', ELECTRON_RUN_AS_NODE: '1' };
    const args = ['--no-warnings', '-e', childSource, file];
    execFile(process.execPath, args, { env, timeout: childMs, windowsHide: true }, (_, out) =>
      resolve(verdictOf[out.trim()] ?? 'unknown'),
    );
  });

/** BUSY and IOERR: nobody else knows the file, so a lock that is not granted is one that the file system lacks. */
const isLockFailure = (error: unknown): boolean => {
  const code = error instanceof Error && 'errcode' in error ? Number(error.errcode) : 0;
  return (code & 0xff) === 5 || code === 3850 || code === 2314 || code === 3594; // IOERR_LOCK, _UNLOCK, _CHECKRESERVEDLOCK
};

/** Locks a file of its own in the folder, and lets a child process try the same lock. */
export const probeLocks = async (folder: string): Promise<LockVerdict> => {
  const file = join(folder, `.perdure-locks-${randomUUID()}`);
  let db: DatabaseSync | undefined;
  try {
    closeSync(openSync(file, 'wx', 0o600));
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
    return await tryInChild(file);
  } catch (error) {
    return isLockFailure(error) ? 'missing' : 'unknown';
  } finally {
    db?.close();
    rmSync(file, { force: true });
  }
};
