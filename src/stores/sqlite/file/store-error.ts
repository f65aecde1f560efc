import { join } from 'node:path';
import { fileProblem } from '../../../core/host/file-problem.ts';
import { FileInTheWay } from '../../../core/host/make-folder.ts';
import type { ErrorCode } from '../../../schema/error.ts';
import { PerdureError } from '../../../schema/error.ts';
import { metaAdvice } from '../../log/stored-meta.ts';

type StoreCode = Exclude<Extract<ErrorCode, `STORE_${string}`>, 'STORE_WENT_BACK'>;
interface EngineError extends Error {
  readonly errcode: number;
}

/** SQLite's primary result codes; `defect` marks those that only a bug of ours can cause. */
const codeOf: Readonly<Record<number, StoreCode | 'defect'>> = {
  1: 'defect', // ERROR
  2: 'STORE_UNAVAILABLE', // INTERNAL
  3: 'STORE_UNAVAILABLE', // PERM
  4: 'STORE_UNAVAILABLE', // ABORT
  5: 'STORE_BUSY', // BUSY
  6: 'STORE_BUSY', // LOCKED
  7: 'STORE_UNAVAILABLE', // NOMEM
  8: 'STORE_UNAVAILABLE', // READONLY
  9: 'STORE_UNAVAILABLE', // INTERRUPT
  10: 'STORE_UNAVAILABLE', // IOERR
  11: 'STORE_CORRUPT', // CORRUPT
  12: 'defect', // NOTFOUND
  13: 'STORE_FULL', // FULL
  14: 'STORE_UNAVAILABLE', // CANTOPEN
  15: 'STORE_BUSY', // PROTOCOL
  16: 'defect', // EMPTY
  17: 'STORE_BUSY', // SCHEMA
  18: 'defect', // TOOBIG
  19: 'STORE_CORRUPT', // CONSTRAINT: a session's row and its events disagree
  20: 'defect', // MISMATCH
  21: 'defect', // MISUSE
  22: 'STORE_UNAVAILABLE', // NOLFS
  23: 'STORE_UNAVAILABLE', // AUTH
  24: 'STORE_CORRUPT', // FORMAT
  25: 'defect', // RANGE
  26: 'STORE_CORRUPT', // NOTADB
};

/**
 * Extended codes that are more specific than their primary code. A quota or a file size limit shows as a failed
 * write, not as FULL.
 */
const extendedCodeOf: Readonly<Record<number, StoreCode>> = {
  778: 'STORE_FULL', // IOERR_WRITE
  4874: 'STORE_FULL', // IOERR_SHMSIZE
  8202: 'STORE_CORRUPT', // IOERR_DATA
  8458: 'STORE_CORRUPT', // IOERR_CORRUPTFS
};

const adviceFor: Readonly<Record<StoreCode, string>> = {
  STORE_BUSY: 'another process has locked it: stop that process, or raise busyTimeoutMs, and try again',
  STORE_FULL: 'nothing was written: make room on its disk, or raise the quota or file size limit, and try again',
  STORE_CORRUPT: 'run `perdure verify`, export the intact sessions, and restore the rest from a backup',
  STORE_UNAVAILABLE: 'check that its disk is available and that this user may read and write the file and its folder',
  STORE_NEWER: 'upgrade perdure',
};

export const storeFailure = (
  code: StoreCode,
  file: string,
  what: string,
  options: { cause?: unknown; advice?: string; details?: Record<string, unknown> } = {},
): PerdureError =>
  new PerdureError(code, `${file}: ${what}; ${options.advice ?? adviceFor[code]}`, {
    details: { file, ...options.details },
    cause: options.cause,
  });

const isEngineError = (error: unknown): error is EngineError =>
  error instanceof Error && 'errcode' in error && typeof error.errcode === 'number';

/** Advice for a file without anything to verify or export. */
const adviceForNoDatabase =
  'it is not a Perdure store: name an existing store or a new file; if it was a store, restore it from a backup';
const notADatabase = 26;

const repairAdvice = 'run `perdure repair --projections` to rebuild it from the logs';
const isRebuildable = ({ message }: Error): boolean =>
  /^no such (table: (commit_paths|tool_calls|charges|snapshots)|index: )/.test(message);
/**
 * Only migrations change the schema, so something else removed what they created, or changed the stored schema number.
 */
const isSchemaDamaged = ({ message }: Error): boolean =>
  /^no such (table|index|column): |^(table|index) .* already exists$|^table .* has no column named /.test(message);

/** Translates an engine error for the caller. Everything else stays unchanged. */
export const storeError = (error: unknown, file: string): unknown => {
  if (!isEngineError(error)) return error;
  if (isSchemaDamaged(error)) {
    const advice = isRebuildable(error) ? repairAdvice : metaAdvice;
    return storeFailure('STORE_CORRUPT', file, error.message, { cause: error, advice });
  }
  const code = extendedCodeOf[error.errcode] ?? codeOf[error.errcode & 0xff] ?? 'defect';
  if (code === 'defect') return error;
  const advice = (error.errcode & 0xff) === notADatabase ? adviceForNoDatabase : adviceFor[code];
  return storeFailure(code, file, error.message, { cause: error, advice, details: { errcode: error.errcode } });
};

/** Translates a file system error about a database or its folder. */
export const fileSystemError = (error: unknown, file: string): unknown => {
  if (!(error instanceof Error && 'code' in error)) return error;
  if (error instanceof FileInTheWay) {
    return storeFailure('STORE_UNAVAILABLE', file, error.message, { cause: error, advice: 'name a file in a folder' });
  }
  const full = error.code === 'ENOSPC' || error.code === 'EDQUOT';
  return storeFailure(full ? 'STORE_FULL' : 'STORE_UNAVAILABLE', file, fileProblem(error), { cause: error });
};

/** The error for a path that is a folder. SQLite would only report that it cannot open the file. */
export const isFolder = (file: string): PerdureError =>
  storeFailure('STORE_UNAVAILABLE', file, 'it is a folder', {
    advice: `name a file in it: ${join(file, 'perdure.db')}`,
  });
