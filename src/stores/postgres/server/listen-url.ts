import pg from 'pg';
import { PerdureError } from '../../../schema/error.ts';
import { connectionOptions } from './database.ts';
import { storeError } from './store-error.ts';

const reasonOf = (problem: unknown): string => (problem instanceof Error ? problem.message : String(problem));

const addressProblem = (url: string): string | undefined => {
  if (!/^postgres(ql)?:\/\//.test(url)) return 'it does not begin with postgres://';
  try {
    new pg.Client(connectionOptions(url));
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
};

export const refuseNoAddress = (listenUrl: string): void => {
  const problem = addressProblem(listenUrl);
  if (problem === undefined) return;
  throw new PerdureError(
    'INVALID_INPUT',
    `PERDURE_LISTEN_URL (listenUrl) is not a PostgreSQL address (${problem}): write one such as postgres://localhost:5432/app, or leave it out`,
  );
};

const until = (lookMs: number): string => `until then followers poll every ${lookMs} ms`;

export const noListener = (problem: unknown, lookMs: number): Error =>
  new Error(
    `check PERDURE_LISTEN_URL (listenUrl): it accepts no connection for hints, while the store itself answers: ${reasonOf(storeError(problem))}; ${until(lookMs)}.`,
    { cause: problem },
  );

export const noneHeard = (lookMs: number): Error =>
  new Error(
    `PERDURE_LISTEN_URL (listenUrl) leads to a pooler that shares connections, or to another database: no notifications arrive through it. Name the server itself and the store's database; ${until(lookMs)}. A pooler in session mode works too.`,
  );
