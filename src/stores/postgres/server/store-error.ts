import pg from 'pg';
import { type ErrorCode, PerdureError } from '../../../schema/error.ts';
import { metaAdvice } from '../../log/stored-meta.ts';

const sqlState = (error: unknown): string => (error instanceof pg.DatabaseError && error.code) || '';

const lostStates = /^(08...|57P0[1-5]|25P0[34])$/;
const lostCodes = /^(ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|ENOTFOUND|EAI_|ENOENT|ERR_SSL|ERR_TLS|ERR_STREAM|CERT_)/;
const lostMessages =
  /^(Connection terminated|Client (has encountered|was closed)|Query read timeout|timeout expired|The server does not support SSL|There was an error establishing an SSL)/;

/**
 * Whether a standby or a read-only server rejected the statement, so nothing has happened. In recovery, a server
 * rejects the setting of the transaction mode.
 */
export const isReadOnly = (error: unknown): boolean => {
  if (!(error instanceof pg.DatabaseError)) return false;
  const isSetting = /check/.test(error.routine ?? '') || /recovery/.test(error.message);
  return error.code === '25006' || (error.code === '0A000' && isSetting);
};

/**
 * Whether the connection is gone, or leads to a server that accepts no writes. The last statement may or may not have
 * taken effect.
 */
export const isConnectionLost = (error: unknown): boolean => {
  if (error instanceof pg.DatabaseError) return lostStates.test(sqlState(error)) || isReadOnly(error);
  if (!(error instanceof Error)) return false;
  const code = 'code' in error ? String(error.code) : '';
  return lostCodes.test(code) || lostMessages.test(error.message);
};

/**
 * Whether the engine rolled the transaction back in favor of another. Nothing has happened, and a retry may succeed.
 */
export const isUndone = (error: unknown): boolean => /^(40001|40P01)$/.test(sqlState(error));

/**
 * Whether a newer release may have migrated the database: it raised the oldest release (see `perdure.admit`), or changed
 * what this release writes to.
 */
export const isOfSchema = (error: unknown): boolean =>
  /^(PD002|3F000|42P01|42P07|42703|42704|42710|42723|42804|42883)$/.test(sqlState(error));

/** Whether an event already exists at the next seq, although the head was current and locked. */
const isHeadBehind = (error: unknown): boolean =>
  error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === 'events_pkey';

/**
 * Whether the view of the database was stale: a moved head (see `perdure.append`), quotas that were not read (see
 * `perdure.enter_ledger`), a seq, key or id that another process took first, or a deadlock. A retry on a fresh view may succeed.
 */
export const isOutdated = (error: unknown): boolean =>
  isUndone(error) || (/^(PD001|PD002|23505)$/.test(sqlState(error)) && !isHeadBehind(error));

export const isPoolExhausted = (error: unknown): boolean =>
  error instanceof Error && error.message === 'timeout exceeded when trying to connect';

/** PostgreSQL settings that end a connection, by SQLSTATE. */
const timeLimits: Readonly<Record<string, string>> = {
  '25P04': 'transaction_timeout',
  '57P05': 'idle_session_timeout',
};

interface Rule {
  readonly matches: (error: unknown, state: string) => boolean;
  readonly code: ErrorCode;
  readonly says: string | ((error: unknown) => string);
}

/** The database's name from PostgreSQL's message, which quotes it in every language. */
const databaseIn = (error: unknown): string => /["“«»„](.+)["”»«“]/.exec(String(error))?.[1] ?? 'of this name';

const rules: readonly Rule[] = [
  {
    matches: (error) => isPoolExhausted(error),
    code: 'STORE_BUSY',
    says: 'all connections to PostgreSQL are in use: try again, or raise poolSize',
  },
  {
    matches: (error, state) => isOutdated(error) || /^(55P03|57014)$/.test(state),
    code: 'STORE_BUSY',
    says: 'PostgreSQL did not answer in time, another writer may hold the session: try again',
  },
  ...Object.entries(timeLimits).map(
    ([limited, limit]): Rule => ({
      matches: (_, state) => state === limited,
      code: 'STORE_UNAVAILABLE',
      says: `PostgreSQL ended the connection because of ${limit}: raise it for the role or the database, then try again`,
    }),
  ),
  {
    matches: (error) => isReadOnly(error),
    code: 'STORE_UNAVAILABLE',
    says: 'PostgreSQL accepts no writes, because it is a standby or set to read-only: connect to the primary, or `alter database … set default_transaction_read_only = off`, then try again',
  },
  {
    // Writing transactions set this limit themselves, so there is no setting to raise.
    matches: (_, state) => state === '25P03',
    code: 'STORE_UNAVAILABLE',
    says: 'this process stopped responding in the middle of a transaction, so PostgreSQL rolled it back to unblock others: try again',
  },
  {
    matches: (error, state) => isConnectionLost(error) || /^(53000|53200|53300|53400)$/.test(state),
    code: 'STORE_UNAVAILABLE',
    says: 'PostgreSQL cannot be reached: check that it runs and accepts connections, then try again',
  },
  {
    matches: (_, state) => state === '3D000',
    code: 'STORE_UNAVAILABLE',
    says: (error) => `there is no database ${databaseIn(error)}: create it, for example with createdb`,
  },
  {
    matches: (_, state) => /^(28...|42501)$/.test(state),
    code: 'STORE_UNAVAILABLE',
    says: 'PostgreSQL refused the role: check the user, password and database in the URL, and what the role may do',
  },
  {
    matches: (_, state) => /^(26000|42P05)$/.test(state),
    code: 'STORE_UNAVAILABLE',
    says: 'a pooler in front of PostgreSQL lost a prepared statement, and could not be recognized as a pooler: make it keep prepared statements (pgbouncer from 1.21 on: max_prepared_statements), or connect without it',
  },
  {
    matches: (_, state) => state === '53100',
    code: 'STORE_FULL',
    says: "PostgreSQL's disk is full: free space, then try again",
  },
  {
    matches: (error, state) =>
      state === '42P01' && /"perdure\.(commit_paths|tool_calls|charges|ledger|snapshots)"/.test(String(error)),
    code: 'STORE_CORRUPT',
    says: 'a table of derived data is missing: run `perdure repair --projections` in every workspace to rebuild it from the logs',
  },
  {
    // Only migrations change the schema, so something else removed what they created, or changed the stored schema
    // number.
    matches: isOfSchema,
    code: 'STORE_CORRUPT',
    says: `the schema of the database is not the one that migrations create: ${metaAdvice}`,
  },
  {
    matches: (error) => isHeadBehind(error),
    code: 'STORE_CORRUPT',
    says: "a session's row and its events disagree: find it with `perdure verify --all`, and run `perdure repair --projections`to correct it from the log",
  },
  {
    matches: (_, state) => state === '22003',
    code: 'STORE_CORRUPT',
    says: 'a row holds a number that no release writes: find its session with `perdure verify --all`, and restore it from an export or a backup',
  },
  {
    matches: (_, state) => /^XX00[12]$/.test(state),
    code: 'STORE_CORRUPT',
    says: 'PostgreSQL found damaged pages: restore the database from a backup',
  },
];

/** Translates an engine error for the caller. An unknown error is a defect and stays unchanged. */
export const storeError = (error: unknown): unknown => {
  const state = sqlState(error);
  const rule = rules.find(({ matches }) => matches(error, state));
  if (!rule || !(error instanceof Error)) return error;
  const reason = error.message || ('code' in error && String(error.code)) || 'no reason given';
  const says = typeof rule.says === 'string' ? rule.says : rule.says(error);
  return new PerdureError(rule.code, `${says} (${reason})`, {
    details: state ? { sqlState: state } : {},
    cause: error,
  });
};

/**
 * The error for a connection that was lost between sending a commit and its answer, if no other connection could check
 * the outcome.
 */
export const unknownOutcome = (cause: unknown): PerdureError => {
  const limit = timeLimits[sqlState(cause)];
  const [ended, advice] = limit
    ? [`PostgreSQL ended the connection because of ${limit}`, `raise ${limit} for the role or the database, then `]
    : ['the connection to PostgreSQL was lost', ''];
  return new PerdureError(
    'STORE_UNAVAILABLE',
    `${ended} during the commit, and whether it landed is unknown: ${advice}repeat it with the same idempotency key, or check first`,
    { details: { outcome: 'unknown' }, cause },
  );
};
