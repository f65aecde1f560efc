import { setTimeout as sleep } from 'node:timers/promises';
import { PerdureError } from '../../../schema/error.ts';
import type { WorktreePlace } from './place.ts';

const busy = 5;
const lookMs = 50;
const defaultPatienceMs = 60_000;

type LockedPlace = Pick<WorktreePlace, 'lockFile' | 'folder'>;

/**
 * Locks a place by locking an empty SQLite file, because the system releases that lock when a process dies. Returns
 * undefined while another process holds the lock.
 */
export const tryLock = async ({ lockFile }: Pick<LockedPlace, 'lockFile'>): Promise<Disposable | undefined> => {
  const { DatabaseSync } = await import('node:sqlite');
  const database = new DatabaseSync(lockFile, { timeout: 0 });
  try {
    database.exec('BEGIN EXCLUSIVE');
    return { [Symbol.dispose]: () => database.close() };
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === busy) return undefined;
    throw error;
  }
};

/** Waits until no other process of this machine works in a place, and locks it. */
export const lockPlace = async (place: LockedPlace, patienceMs = defaultPatienceMs): Promise<Disposable> => {
  for (const until = performance.now() + patienceMs; ; await sleep(lookMs)) {
    const lock = await tryLock(place);
    if (lock) return lock;
    if (performance.now() < until) continue;
    throw new PerdureError(
      'CONFLICT',
      `another process restores files in ${place.folder}: send again when that is done`,
      {
        details: { folder: place.folder },
      },
    );
  }
};
