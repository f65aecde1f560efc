import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { isPerdureError } from '../../../schema/error.ts';
import { fileSystemError, storeError } from './store-error.ts';

const engineError = (errcode: number): Error => Object.assign(new Error('it failed'), { errcode });

test.each([
  ['BUSY', 5, 'STORE_BUSY'],
  ['BUSY_SNAPSHOT', 517, 'STORE_BUSY'],
  ['LOCKED', 6, 'STORE_BUSY'],
  ['FULL', 13, 'STORE_FULL'],
  ['IOERR_WRITE', 778, 'STORE_FULL'],
  ['IOERR_SHMSIZE', 4874, 'STORE_FULL'],
  ['CORRUPT', 11, 'STORE_CORRUPT'],
  ['CORRUPT_INDEX', 779, 'STORE_CORRUPT'],
  ['NOTADB', 26, 'STORE_CORRUPT'],
  ['IOERR_CORRUPTFS', 8458, 'STORE_CORRUPT'],
  ['CONSTRAINT_UNIQUE', 2067, 'STORE_CORRUPT'],
  ['CANTOPEN', 14, 'STORE_UNAVAILABLE'],
  ['READONLY_DBMOVED', 1032, 'STORE_UNAVAILABLE'],
  ['IOERR_READ', 266, 'STORE_UNAVAILABLE'],
  ['PERM', 3, 'STORE_UNAVAILABLE'],
])('[FAULT1] %s (%i) becomes %s, naming the file and the next step', (_, errcode, code) => {
  const cause = engineError(errcode);
  const error = storeError(cause, '/data/perdure.db');
  expect(error).toMatchObject({ code, details: { file: '/data/perdure.db', errcode }, cause });
  expect(isPerdureError(error) && error.message).toMatch(/^\/data\/perdure\.db: it failed; .+/);
});

test.each([
  ['no such table: keys', 'backup'],
  ['no such column: epoch', 'backup'],
  ['no such index: events_naming_blobs', 'repair --projections'],
  ['table meta already exists', 'backup'],
  ['table sessions has no column named epoch', 'backup'],
  ['no such table: tool_calls', 'perdure repair --projections'],
  ['no such table: snapshots', 'perdure repair --projections'],
])('[FAULT1] "%s" becomes STORE_CORRUPT with the advice: %s', (said, advice) => {
  const cause = Object.assign(new Error(said), { errcode: 1 });
  const message = expect.stringContaining(advice);
  expect(storeError(cause, 'x')).toMatchObject({ code: 'STORE_CORRUPT', message, cause });
});

test('errors that only a defect can cause stay unchanged', () => {
  const misuse = engineError(21);
  expect(storeError(misuse, 'x')).toBe(misuse);
  const db = new DatabaseSync(':memory:');
  try {
    db.exec('SELECT nothing FROM nowhere');
  } catch (error) {
    expect(storeError(error, 'x')).toBe(error);
  }
  expect(storeError('text', 'x')).toBe('text');
});

test('[FAULT1] a folder that cannot be created becomes STORE_FULL or STORE_UNAVAILABLE', () => {
  const failure = (code: string) => Object.assign(new Error('no'), { code });
  expect(fileSystemError(failure('ENOSPC'), 'x')).toMatchObject({ code: 'STORE_FULL' });
  expect(fileSystemError(failure('EACCES'), 'x')).toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringMatching(/^x: this user has no permission; check that .*this user may read and write/),
  });
});
