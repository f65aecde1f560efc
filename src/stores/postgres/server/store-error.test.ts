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

describe('failures of the engine', () => {
  for (const [code, errors] of cases) {
    test(`[FAULT1] are told as ${code}, with what to do next and the cause`, () => {
      for (const error of errors) {
        const told = storeError(error);
        expect(isPerdureError(told, code), `${error.message} ${JSON.stringify(error)}`).toBe(true);
        expect(told).toMatchObject({ cause: error, message: expect.stringMatching(/: .+\(.+\)$/) });
      }
    });
  }

  test.each([
    ['database "nowhere" does not exist', 'nowhere'],
    ['Datenbank »nowhere« existiert nicht', 'nowhere'],
    ['no such database', 'of this name'],
  ])('[FAULT1] name a database that does not exist, and how to make it: %s', (message, name) => {
    const cause = Object.assign(new pg.DatabaseError(message, 0, 'error'), { code: '3D000' });
    expect(storeError(cause)).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: `there is no database ${name}: make it, for example with createdb (${message})`,
    });
  });

  test.each([
    ['25P04', 'transaction_timeout'],
    ['57P05', 'idle_session_timeout'],
  ])(
    '[FAULT1] with %s, by a limit on time, say that %s is to be raised, also in the middle of a commit',
    (state, limit) => {
      const message = expect.stringMatching(new RegExp(`because of ${limit}\\b.*: raise `));
      const cause = engineError(state);
      expect(storeError(cause)).toMatchObject({ code: 'STORE_UNAVAILABLE', message });
      expect(unknownOutcome(cause)).toMatchObject({ message, details: { outcome: 'unknown' }, cause });
    },
  );

  test('[FAULT1] of a server in recovery are told as one that takes no writes, in any language; other features that it lacks are not', () => {
    const refused = (fields: object) => Object.assign(engineError('0A000'), fields);
    const told = { code: 'STORE_UNAVAILABLE', message: expect.stringContaining('takes no writes') };
    expect(storeError(refused({ routine: 'call_bool_check_hook' }))).toMatchObject(told);
    expect(storeError(refused({ message: 'cannot set transaction read-write mode during recovery' }))).toMatchObject(
      told,
    );
    const other = refused({ routine: 'RevalidateCachedQuery' });
    expect(storeError(other)).toBe(other);
  });

  test('[FAULT1] with 25P03 say that this process stood still, and name no limit to raise: the transaction sets it', () => {
    expect(storeError(engineError('25P03'))).toMatchObject({
      code: 'STORE_UNAVAILABLE',
      message: expect.stringMatching(/stood still in the middle of a transaction.*: try again/),
    });
  });

  test('[FAULT1] that nobody expects stay as they are', () => {
    for (const error of [engineError('42601'), new TypeError('a defect'), 'text'])
      expect(storeError(error)).toBe(error);
  });
});
