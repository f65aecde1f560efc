import pg from 'pg';
import { describe, expect, test } from 'vitest';
import { type ErrorCode, isPerdureError } from '../../../schema/error.ts';
import { storeError, unknownOutcome } from './store-error.ts';

const engineError = (code: string): Error =>
  Object.assign(new pg.DatabaseError('said the server', 0, 'error'), { code });
const nodeError = (code: string): Error => Object.assign(new Error('said the system'), { code });

const cases: readonly (readonly [ErrorCode, readonly Error[]])[] = [
  [
    'STORE_UNAVAILABLE',
    [
      ...['57P01', '57P02', '57P03', '08006', '08001', '53300', '28P01', '3D000', '25006', '26000', '42P05'].map(
        engineError,
      ),
      ...['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOTFOUND', 'EAI_AGAIN'].map(nodeError),
      new Error('Connection terminated unexpectedly'),
      new Error('Client has encountered a connection error and is not queryable'),
    ],
  ],
  ['STORE_FULL', ['53100'].map(engineError)],
  [
    'STORE_BUSY',
    [...['55P03', '57014', '40001', '40P01'].map(engineError), new Error('timeout exceeded when trying to connect')],
  ],
  ['STORE_CORRUPT', ['XX001', 'XX002', '42P01', '42703', '42P07', '42883', '3F000', '22003'].map(engineError)],
];

describe('engine failures', () => {
  for (const [code, errors] of cases) {
    test(`[FAULT1] engine failures become ${code}, with the next step and the cause`, () => {
      for (const error of errors) {
        const reported = storeError(error);
        expect(isPerdureError(reported, code), `${error.message} ${JSON.stringify(error)}`).toBe(true);
        expect(reported).toMatchObject({ cause: error, message: expect.stringMatching(/: .+\(.+\)$/) });
      }
    });
  }

  test.each([
    ['database "nowhere" does not exist', 'nowhere'],
    ['Datenbank »nowhere« existiert nicht', 'nowhere'],
    ['no such database', 'of this name'],
  ])('[FAULT1] the error for a missing database names it, and says how to create it: %s', (message, name) => {
    const cause = Object.assign(new pg.DatabaseError(message, 0, 'error'), { code: '3D000' });
    expect(storeError(cause)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `there is no database ${name}: create it, for example with createdb (${message})`,
    });
  });

  test.each([
    ['25P04', 'transaction_timeout'],
    ['57P05', 'idle_session_timeout'],
  ])('[FAULT1] with %s, caused by a time limit, the error says to raise %s, even during a commit', (state, limit) => {
    const message = expect.stringMatching(new RegExp(`because of ${limit}\\b.*: raise `));
    const cause = engineError(state);
    expect(storeError(cause)).toMatchObject({ code: 'STORE_UNAVAILABLE', message });
    expect(unknownOutcome(cause)).toMatchObject({ message, details: { outcome: 'unknown' }, cause });
  });

  test('[FAULT1] a server in recovery is reported as read-only, whatever the language of its messages; other unsupported features are not', () => {
    const refused = (fields: object) => Object.assign(engineError('0A000'), fields);
    const readOnly = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('accepts no writes') };
    expect(storeError(refused({ routine: 'call_bool_check_hook' }))).toMatchObject(readOnly);
    expect(storeError(refused({ message: 'cannot set transaction read-write mode during recovery' }))).toMatchObject(
      readOnly,
    );
    const other = refused({ routine: 'RevalidateCachedQuery' });
    expect(storeError(other)).toBe(other);
  });

  test('[FAULT1] with 25P03 the error says that the process stopped responding, and names no limit to raise', () => {
    expect(storeError(engineError('25P03'))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/stopped responding in the middle of a transaction.*: try again/),
    });
  });

  test('[FAULT1] unexpected errors stay unchanged', () => {
    for (const error of [engineError('42601'), new TypeError('a defect'), 'text'])
      expect(storeError(error)).toBe(error);
  });
});
