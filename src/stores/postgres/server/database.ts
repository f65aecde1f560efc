import pg from 'pg';
import { PerdureError } from '../../../schema/error.ts';
import { registryWorkspace, WorkspaceId } from '../../../schema/ids.ts';
import { timerMs } from '../../../schema/timer-limit.ts';
import { Lease, SharedLease } from './leases.ts';
import { isConnectionLost, isUndone } from './store-error.ts';

export type Statement = pg.QueryConfig | string;
export type Rows<Row> = readonly Row[];

/** A statement that each connection parses once. */
export const prepared =
  (name: string, text: string) =>
  (...values: readonly unknown[]): pg.QueryConfig => ({ name: `perdure.${name}`, text, values: [...values] });

const { INT8, BYTEA } = pg.types.builtins;

const bytesOf = (text: string): Uint8Array => {
  if (!text.startsWith('\\x')) throw new Error('PostgreSQL gave bytes in another form than hex');
  const { buffer, byteOffset, length } = Buffer.from(text.slice('\\x'.length), 'hex');
  return new Uint8Array(buffer, byteOffset, length);
};

/** Counters and times stay below 2^53; the driver would give them as text. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') => {
    if (oid === INT8) return Number;
    return oid === BYTEA ? bytesOf : pg.types.getTypeParser(oid, format);
  }) as typeof pg.types.getTypeParser,
};

/** What a database or a role may have set otherwise, and what is read or locked here rests on. */
const pinnedSettings = `set local bytea_output = 'hex'; set local extra_float_digits = 1`;

const limitStatement = (ms: number): string => `set local statement_timeout = ${Math.trunc(ms)}`;
const limitOpen = (ms: number): string => `set local idle_in_transaction_session_timeout = ${ms}`;

/** How long others on the same connection may wait for one. */
const sharedTimeoutMs = 500;
/** How long to wait for a connection, new or free. */
const connectTimeoutMs = 3000;
/** How long others wait for a transaction whose process was frozen or whose machine went away in the middle of it. */
const openTimeoutMs = 5000;
/** How much longer it may be for one that is fed bit by bit, and says in between that it goes on. */
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
 * Sends all statements at once and waits for all: one round trip. Each has its own outcome on the server; inside a transaction the
 * later ones fail because the first did, so the first failure is the one that counts. A place left undefined answers with no rows.
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

/** A commit of a transaction that has failed answers so. */
export const refuseRollback = (answers: readonly Answer[]): void => {
  if (answers.at(-1)!.command !== 'COMMIT') throw new Error('PostgreSQL rolled back a transaction without an error');
};

const ignore = (): void => undefined;

const withoutName = (statement: Statement): Statement =>
  typeof statement === 'string' ? statement : { ...statement, name: undefined };

/** The connection sends every statement whole. */
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
}

/** `answers` are those of the first statements. */
export type Feed<T> = (client: pg.Client, answers: readonly Answer[]) => Promise<T>;

/** What can be asked, in a transaction of its own or within one. */
export type Source = Pick<Database, 'read'>;

/** The pool, and transactions that see one workspace, or the queue of all. */
export class Database {
  readonly poolSize: number;
  readonly statementTimeoutMs: number;
  readonly #pool: pg.Pool;
  readonly #timeout: string;
  readonly #openMs: number;
  readonly #shares = new Map<WorkspaceId, SharedLease>();
  #namesStatements = true;
  /** For what is found by its key: what a workspace reads so in one tick shares a connection, and takes one round trip together. */
  readonly together: Source = { read: (workspace, statement) => this.#readTogether(workspace, statement) };

  constructor({ url, poolSize, statementTimeoutMs }: DatabaseOptions) {
    this.poolSize = poolSize;
    this.statementTimeoutMs = statementTimeoutMs;
    this.#timeout = limitStatement(statementTimeoutMs);
    this.#openMs = Math.min(openTimeoutMs, statementTimeoutMs);
    this.#pool = new pg.Pool({
      ...connectionOptions(url),
      max: poolSize,
      pipeline: true,
      // Only for a server that is silent: one that answers ends the statement itself.
      query_timeout: timerMs(statementTimeoutMs + connectTimeoutMs),
      idleTimeoutMillis: 30_000,
      allowExitOnIdle: true,
    });
    // The pool drops a connection that broke; whoever was using it sees its statement fail.
    this.#pool.on('error', ignore);
    this.#pool.on('connect', (client) => {
      client.on('error', ignore);
      if (!this.#namesStatements) forgetNames(client);
    });
  }

  /** For a pooler that loses them; `client` is the first connection of the pool, and the only one so far. */
  sendStatementsWhole(client: pg.Client): void {
    this.#namesStatements = false;
    forgetNames(client);
  }

  /**
   * Everything a transaction needs is set within it: nothing depends on which connection serves it. One that writes holds what others wait
   * for, so nobody may leave it open.
   */
  opening(workspace: WorkspaceId, mode: 'read only' | 'read write', openMs = this.#openMs): string {
    if (workspace !== registryWorkspace && !WorkspaceId.safeParse(workspace).success) {
      throw new PerdureError('INVALID_INPUT', `"${workspace}" is not a workspace`);
    }
    const durable = mode === 'read write' ? `; set local synchronous_commit = on; ${limitOpen(openMs)}` : '';
    return `begin isolation level read committed ${mode}; ${pinnedSettings}; set local perdure.workspace = '${workspace}'; ${this.#timeout}${durable}`;
  }

  /**
   * For the queue of all workspaces. Its rows are only hints, which a crash may turn back: nothing waits for the disk. Claims wait for
   * each other, so nobody may leave one open.
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
   * A transaction that is fed bit by bit and ends with its commit; what `work` throws undoes it. However long it waits for the next bit, the
   * server hears that it goes on.
   */
  feed<T>(workspace: WorkspaceId, first: readonly Statement[], work: Feed<T>): Promise<T> {
    return this.use(async (client) => {
      const beat = setInterval(() => client.query('select').catch(ignore), this.#openMs);
      try {
        const opening = this.opening(workspace, 'read write', fedTimes * this.#openMs);
        const [, ...answers] = await exchange(client, [opening, ...first]);
        const result = await work(client, answers);
        clearInterval(beat);
        refuseRollback(await exchange(client, ['commit']));
        return result;
      } catch (error) {
        clearInterval(beat);
        await exchange(client, ['rollback']).catch(ignore);
        throw error;
      }
    });
  }

  /** One round trip; tried once more when the connection turns out to be dead, or the engine undid it. */
  async read<Row extends pg.QueryResultRow>(workspace: WorkspaceId, statement: Statement): Promise<Rows<Row>> {
    const [answer] = await this.#ask(this.opening(workspace, 'read only'), [statement]);
    return answer!.rows;
  }

  /** As `read`; for what may as well be done twice. */
  write(workspace: WorkspaceId, statements: readonly Statement[]): Promise<readonly Answer[]> {
    return this.#ask(this.opening(workspace, 'read write'), statements);
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

  /** Others wait behind it, so that it has a moment; what did not come in it, or failed with another, is read alone. */
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
