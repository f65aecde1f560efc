import pg from 'pg';
import { PerdureError } from '../../../schema/error.ts';
import { registryWorkspace, WorkspaceId } from '../../../schema/ids.ts';
import { timerMs } from '../../../schema/timer-limit.ts';
import { releaseNumbers } from '../../release.ts';
import { Lease, SharedLease } from './leases.ts';
import { isConnectionLost, isUndone } from './store-error.ts';

export type Statement = pg.QueryConfig | string;
export type Rows<Row> = readonly Row[];

/** A statement that each connection parses only once. */
export const prepared =
  (name: string, text: string) =>
  (...values: readonly unknown[]): pg.QueryConfig => ({ name: `perdure.${name}`, text, values: [...values] });

const { INT8, BYTEA } = pg.types.builtins;

const bytesOf = (text: string): Uint8Array => {
  if (!text.startsWith('\\x')) throw new Error('PostgreSQL returned bytea in another format than hex');
  const { buffer, byteOffset, length } = Buffer.from(text.slice('\\x'.length), 'hex');
  return new Uint8Array(buffer, byteOffset, length);
};

/** Counters and times stay below 2^53. By default the driver would return them as text. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') => {
    if (oid === INT8) return Number;
    return oid === BYTEA ? bytesOf : pg.types.getTypeParser(oid, format);
  }) as typeof pg.types.getTypeParser,
};

/** Settings that this code relies on, and that the database or the role may set differently. */
export const pinnedSettings = `set local bytea_output = 'hex'; set local extra_float_digits = 1`;

const limitStatement = (ms: number): string => `set local statement_timeout = ${Math.trunc(ms)}`;
const limitOpen = (ms: number): string => `set local idle_in_transaction_session_timeout = ${ms}`;

/** The statement timeout on a shared connection, where reads wait behind each other. */
const sharedTimeoutMs = 500;
/** How long to wait for a new or free pool connection. */
const connectTimeoutMs = 3000;
/** How long an open transaction may be idle. It blocks others if its process freezes or its machine vanishes. */
const openTimeoutMs = 5000;
/** The idle limit is this many times longer for a `feed` transaction, which sends a heartbeat between pieces. */
const fedTimes = 6;

export const connectionOptions = (url: string): pg.ClientConfig => ({
  connectionString: url,
  application_name: 'perdure',
  connectionTimeoutMillis: connectTimeoutMs,
  keepAlive: true,
  types,
});

export type Answer = Pick<pg.QueryResult, 'rows' | 'command'>;
const notAsked: Answer = { rows: [], command: '' };

/**
 * Sends all statements together and awaits all results, in one round trip. Inside a transaction, a failed statement
 * makes the later ones fail, so the first error is thrown. An undefined statement yields no rows.
 */
export const exchange = async (
  client: pg.Client,
  statements: readonly (Statement | undefined)[],
): Promise<readonly Answer[]> => {
  const { stream } = client.connection;
  stream.cork();
  const sent = statements.map((statement) => (statement === undefined ? notAsked : client.query(statement)));
  stream.uncork();
  const settled = await Promise.allSettled(sent);
  return settled.map((each) => {
    if (each.status === 'rejected') throw each.reason;
    return each.value;
  });
};

/** Throws if the commit turned into a rollback: committing a failed transaction reports no error. */
export const refuseRollback = (answers: readonly Answer[]): void => {
  if (answers.at(-1)!.command !== 'COMMIT') throw new Error('PostgreSQL rolled back a transaction without an error');
};

const admit = prepared('admit', 'select where perdure.admit($1::integer[]) is null');

const ignore = (): void => undefined;

const withoutName = (statement: Statement): Statement =>
  typeof statement === 'string' ? statement : { ...statement, name: undefined };

/** Makes the connection send every statement as full text, without prepared names. */
const forgetNames = (client: pg.Client): void => {
  const query = client.query.bind(client) as (statement: Statement, values?: unknown[]) => Promise<pg.QueryResult>;
  Object.assign(client, {
    query: (statement: Statement, values?: unknown[]) => query(withoutName(statement), values),
  });
};

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  /** The release to act as. */
  readonly release: string;
}

/** The work of a `feed` transaction. `answers` holds the results of its first statements. */
export type Feed<T> = (client: pg.Client, answers: readonly Answer[]) => Promise<T>;

/** A way to read, inside or outside an open transaction. */
export type Source = Pick<Database, 'read'>;

/** The connection pool, and transactions that see one workspace or the queue of all workspaces. */
export class Database {
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  readonly release: string;
  /**
   * The last statement of a writing transaction: rejects it if the database no longer allows this release. See
   * `perdure.admit`.
   */
  readonly admission: Statement;
  readonly #pool: pg.Pool;
  readonly #timeout: string;
  readonly #openMs: number;
  readonly #shares = new Map<WorkspaceId, SharedLease>();
  #namesStatements = true;
  /**
   * For lookups by key: reads of one workspace that are requested in the same tick share a connection and a round
   * trip.
   */
  readonly together: Source = { read: (workspace, statement) => this.#readTogether(workspace, statement) };

  constructor({ url, poolSize, statementTimeoutMs, release }: DatabaseOptions) {
    this.release = release;
    this.admission = admit(releaseNumbers(release));
    this.poolSize = poolSize;
    this.statementTimeoutMs = statementTimeoutMs;
    this.#timeout = limitStatement(statementTimeoutMs);
    this.#openMs = Math.min(openTimeoutMs, statementTimeoutMs);
    this.#pool = new pg.Pool({
      ...connectionOptions(url),
      max: poolSize,
      pipeline: true,
      // Only for a silent server: a responsive server enforces the statement timeout itself.
      query_timeout: timerMs(statementTimeoutMs + connectTimeoutMs),
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
    });
    // The pool drops a broken connection, and the statement in flight on it fails.
    this.#pool.on('error', ignore);
    this.#pool.on('connect', (client) => {
      client.on('error', ignore);
      if (!this.#namesStatements) forgetNames(client);
    });
  }

  /** For a pooler that loses prepared statements. `client` must be the only connection of the pool so far. */
  sendStatementsWhole(client: pg.Client): void {
    this.#namesStatements = false;
    forgetNames(client);
  }

  /**
   * The statements that begin a transaction. They set everything that the transaction needs, so any connection can
   * serve it. A writing transaction can block others, so it has an idle limit.
   */
  opening(workspace: WorkspaceId, mode: 'read only' | 'read write', openMs = this.#openMs): string {
    if (workspace !== registryWorkspace && !WorkspaceId.safeParse(workspace).success) {
      throw new PerdureError('INVALID_INPUT', `"${workspace}" is not a workspace id`);
    }
    const durable = mode === 'read write' ? `; set local synchronous_commit = on; ${limitOpen(openMs)}` : '';
    return `begin isolation level read committed ${mode}; ${pinnedSettings}; set local perdure.workspace = '${workspace}'; ${this.#timeout}${durable}`;
  }

  /**
   * A transaction on the queue of all workspaces. It does not wait for the disk, because queue rows are hints and a
   * crash may undo them. Claims wait for each other, so it gets an idle limit.
   */
  dispatch(statements: readonly Statement[]): Promise<readonly Answer[]> {
    const opening = `begin isolation level read committed; ${pinnedSettings}; set local perdure.dispatch = 'on'; ${this.#timeout}; set local synchronous_commit = off; ${limitOpen(this.#openMs)}`;
    return this.#ask(opening, statements);
  }

  use<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    return new SharedLease(this.#pool).use(work);
  }

  lease(): Lease {
    return new Lease(this.#pool);
  }

  /**
   * A transaction that receives its input piece by piece, and commits at the end. An error in `work` rolls it back. A
   * heartbeat keeps it alive while it waits for the next piece.
   */
  feed<T>(workspace: WorkspaceId, first: readonly Statement[], work: Feed<T>): Promise<T> {
    return this.use(async (client) => {
      const beat = setInterval(() => client.query('select').catch(ignore), this.#openMs);
      try {
        const opening = this.opening(workspace, 'read write', fedTimes * this.#openMs);
        const [, ...answers] = await exchange(client, [opening, ...first]);
        const result = await work(client, answers);
        clearInterval(beat);
        refuseRollback(await exchange(client, [this.admission, 'commit']));
        return result;
      } catch (error) {
        clearInterval(beat);
        await exchange(client, ['rollback']).catch(ignore);
        throw error;
      }
    });
  }

  /** One round trip. Retries once if the connection is dead or the engine rolled the transaction back. */
  async read<Row extends pg.QueryResultRow>(workspace: WorkspaceId, statement: Statement): Promise<Rows<Row>> {
    const [answer] = await this.#ask(this.opening(workspace, 'read only'), [statement]);
    return answer!.rows;
  }

  /** Like `read`, for statements that are safe to repeat. */
  write(workspace: WorkspaceId, statements: readonly Statement[]): Promise<readonly Answer[]> {
    return this.#ask(this.opening(workspace, 'read write'), [...statements, this.admission]);
  }

  /** The server's clock. */
  async now(): Promise<number> {
    const [answer] = await this.#ask('begin read only', [
      'select floor(extract(epoch from clock_timestamp()) * 1000)::bigint as now',
    ]);
    return answer!.rows[0].now;
  }

  async close(): Promise<void> {
    await this.#pool.end();
  }

  /**
   * Reads on a shared connection, with a short timeout because other reads wait behind it. If that fails, retries the
   * read on its own connection.
   */
  async #readTogether<Row extends pg.QueryResultRow>(workspace: WorkspaceId, statement: Statement): Promise<Rows<Row>> {
    const opening = `${this.opening(workspace, 'read only')}; ${limitStatement(Math.min(sharedTimeoutMs, this.statementTimeoutMs))}`;
    const ask = (client: pg.Client) => exchange(client, [opening, statement, 'commit']);
    try {
      const [, answer] = await this.#leaseTogether(workspace).use(ask);
      return answer!.rows;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError) && !isConnectionLost(error)) throw error;
      return this.read(workspace, statement);
    }
  }

  #leaseTogether(workspace: WorkspaceId): SharedLease {
    const known = this.#shares.get(workspace);
    if (known && !known.isFull) return known;
    const lease = new SharedLease(this.#pool);
    if (!known) process.nextTick(() => this.#shares.delete(workspace));
    this.#shares.set(workspace, lease);
    return lease;
  }

  async #ask(opening: string, statements: readonly Statement[]): Promise<readonly Answer[]> {
    const ask = () => this.use((client) => exchange(client, [opening, ...statements, 'commit']));
    const answers = await ask().catch((error: unknown) => {
      if (!isConnectionLost(error) && !isUndone(error)) throw error;
      return ask();
    });
    return answers.slice(1, -1);
  }
}
