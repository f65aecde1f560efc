import { dirname, extname, resolve } from 'node:path';
import { makePrivateFolder } from '../../core/host/make-folder.ts';
import type { RuntimeStore } from '../../core/ports/runtime-store.ts';
import { PerdureError } from '../../schema/error.ts';
import { fieldProblem } from '../../schema/field-problem.ts';
import { checkMs } from '../check-ms.ts';
import { currentRelease } from '../release.ts';
import { Watchers } from '../waking/watchers.ts';
import { isMissingOrEmpty, makeFile } from './file/make-file.ts';
import { newFileMark } from './file/opened-files.ts';
import { refuseWithoutLocks } from './file/refuse-without-locks.ts';
import { fileSystemError, storeFailure } from './file/store-error.ts';
import { SqliteStore } from './sqlite-store.ts';
import { openEarlyReads } from './thread/early-reads.ts';
import { followFile } from './thread/follow-file.ts';
import { earlyMs, Reader } from './thread/reader.ts';
import type { ReaderOperations } from './thread/serve-reads.ts';
import type { WriterOperations } from './thread/serve-writes.ts';
import { ThreadClient } from './thread/thread-client.ts';

export interface SqliteOptions {
  /**
   * The database file. It is created if missing, with its folders. A new file, and the folder directly above it if
   * new, are accessible only to this user.
   */
  readonly file: string;
  /** How long to wait for other processes before STORE_BUSY. */
  readonly busyTimeoutMs?: number;
  /** How often to poll for changes by other processes, where the file system does not report them. */
  readonly fallbackPollMs?: number;
  /** The release to act as, instead of the installed one. */
  readonly release?: string;
}

const fields: Record<keyof SqliteOptions, true> = {
  file: true,
  busyTimeoutMs: true,
  fallbackPollMs: true,
  release: true,
};

const entry = new URL(`./thread/thread${extname(import.meta.url)}`, import.meta.url);

export const openSqliteStore = async (options: SqliteOptions): Promise<RuntimeStore> => {
  const problem = fieldProblem(options, fields);
  if (problem) throw new PerdureError('INVALID_INPUT', `openSqliteStore: ${problem}`);
  const busyTimeoutMs = checkMs('busyTimeoutMs', options.busyTimeoutMs ?? 10_000, 0);
  const fallbackPollMs = checkMs('fallbackPollMs', options.fallbackPollMs ?? 1000);
  const file = resolve(options.file);
  await makePrivateFolder(dirname(file)).catch((error) => {
    throw fileSystemError(error, file);
  });
  await refuseWithoutLocks(file, isMissingOrEmpty(file));
  makeFile(file);
  const { release = currentRelease() } = options;
  const data = { file, busyTimeoutMs, fallbackPollMs, release, mark: newFileMark() };
  const lost = (cause: unknown) =>
    storeFailure('STORE_UNAVAILABLE', file, 'a thread of the store ended during this call', {
      cause,
      advice: 'a write may or may not have landed: read before trying again',
    });
  const watchers = new Watchers();
  const readerThread = new ThreadClient<ReaderOperations>({
    entry,
    data: { ...data, role: 'reader' },
    lost,
    onChanges: (changes) => {
      watchers.hinted(changes);
      for (const change of changes) watchers.tell(change);
    },
    onLost: () => watchers.any && void followFile(reader, watchers),
  });
  const early = openEarlyReads(data);
  const reader = new Reader(readerThread, early);
  const writer = new ThreadClient<WriterOperations>({ entry, data: { ...data, role: 'writer' }, lost });
  if (early) writer.startAfter(earlyMs);
  else writer.start();
  try {
    await reader.open();
  } catch (error) {
    await Promise.all([reader.stop(), writer.stop()]);
    throw error;
  }
  return new SqliteStore(reader, writer, watchers);
};
