import type { DatabaseSync } from 'node:sqlite';
import { isNewerRelease } from '../../release.ts';
import { storeFailure } from './store-error.ts';

/** Rejects a release that the database no longer allows. */
export interface Admission {
  /** Call this at the beginning of a transaction, because a newer release may have migrated the file since the last one. */
  check(): void;
}

export const releaseTooOld = (file: string, needs: string, release: string) =>
  storeFailure('STORE_NEWER', file, `the database needs perdure ${needs} or newer, and this is ${release}`, {
    details: { needs, release },
  });

export const openAdmission = (db: DatabaseSync, file: string, release: string): Admission => {
  const oldest = db.prepare('SELECT oldest_reader FROM meta');
  oldest.setReturnArrays(true);
  let admitted: unknown;
  return {
    check: () => {
      const [needs] = (oldest.get() ?? []) as unknown as unknown[];
      if (needs === admitted) return;
      if (isNewerRelease(String(needs), release)) throw releaseTooOld(file, String(needs), release);
      admitted = needs;
    },
  };
};
