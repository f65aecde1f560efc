import type pg from 'pg';
import type { RuntimeStore } from '../../core/ports/runtime-store.ts';
import { PerdureError } from '../../schema/error.ts';
import { fieldProblem } from '../../schema/field-problem.ts';
import { checkMs } from '../check-ms.ts';
import { currentRelease } from '../release.ts';
import { Changes } from './log/changes.ts';
import { migrate } from './log/migrations.ts';
import { rebuildWorkspaces } from './log/rebuild-projections.ts';
import { openWriteLog } from './log/write-log.ts';
import { PostgresStore } from './postgres-store.ts';
import { Database } from './server/database.ts';
import { noListener, noneHeard, refuseNoAddress } from './server/listen-url.ts';
import { NoteSeal, readNoteKey } from './server/note-seal.ts';
import { checkPoolSize } from './server/pool-size.ts';
import { isPooled, losesStatements, noHints } from './server/pooler.ts';
import { postgresDefaults } from './server/postgres-defaults.ts';
import { storeError } from './server/store-error.ts';

export interface PostgresStoreOptions {
  /**
   * `postgres://user:password@host:port/database`. Use an ordinary role. Row-level security then separates workspaces,
   * even if the role owns the tables. It never applies to a superuser or to a role with BYPASSRLS.
   */
  readonly url: string;
  /** A direct connection for LISTEN, needed if `url` leads to a pooler that shares connections between clients. */
  readonly listenUrl?: string | undefined;
  /**
   * Maximum number of connections, beside the listening one: 1 to 1000. A call waits up to 3 s for a free connection.
   */
  readonly poolSize?: number | undefined;
  /** How often to poll watched sessions, in case a notification was lost. */
  readonly fallbackPollMs?: number;
  /** How often to check the listening connection, and how long it may take to answer. */
  readonly keepAliveMs?: number;
  /** Time limit for one statement. */
  readonly statementTimeoutMs?: number;
  /**
   * Called with the reason if hints do not arrive, or if row-level security does not apply to the role. By default
   * emits a process warning.
   */
  readonly onWarning?: ((problem: Error) => void) | undefined;
  /** For tests: the release to act as, instead of the installed one. */
  readonly release?: string;
}

const fields: Record<keyof PostgresStoreOptions, true> = {
  url: true,
  listenUrl: true,
  poolSize: true,
  fallbackPollMs: true,
  keepAliveMs: true,
  statementTimeoutMs: true,
  onWarning: true,
  release: true,
};

const refuseNoSync = (fsync: string): void => {
  if (fsync === 'on') return;
  throw new PerdureError(
    'STORE_UNAVAILABLE',
    'PostgreSQL runs with fsync off: a power failure may lose acknowledged data; set fsync = on and try again',
    { details: { fsync } },
  );
};

/** The oldest release of PostgreSQL that the store is tested with. */
const oldestServer = 15;

/** `version` is the number of the server's release, such as 150018. */
export const refuseOldServers = (version: number, name: string): void => {
  if (version >= oldestServer * 10_000) return;
  throw new PerdureError(
    'STORE_UNAVAILABLE',
    `the server is PostgreSQL ${name}, and perdure needs ${oldestServer} or newer: upgrade the server`,
    { details: { server: name, needs: String(oldestServer) } },
  );
};

const refuseOtherEncodings = (encoding: string): void => {
  if (encoding === 'UTF8') return;
  throw new PerdureError(
    'STORE_UNAVAILABLE',
    `the database is in ${encoding}, which cannot store every text: create one with \`create database … encoding 'UTF8' template template0\` and name it in the URL`,
    { details: { encoding } },
  );
};

const ordinaryRole = 'use an ordinary role that owns its database, as "PostgreSQL" in docs/guides/many-workers.md says';

/**
 * Returns a warning if row-level security does not bind the role. Queries the cause only then, because that is the
 * slowest query of opening.
 */
const findUnbound = async (client: pg.Client): Promise<Error | undefined> => {
  const { rows: bound } = await client.query(
    `select row_security_active('perdure.sessions') and row_security_active('perdure.events') as active`,
  );
  if (bound[0].active) return undefined;
  const { rows } = await client.query(
    'select rolname as role, rolsuper as is_super, rolbypassrls as bypasses from pg_roles where rolname = current_user',
  );
  const { role, is_super, bypasses } = rows[0];
  const byRole = is_super ? 'a superuser' : 'which has BYPASSRLS';
  const [why, remedy] =
    is_super || bypasses
      ? [byRole, ordinaryRole]
      : ['because it was disabled on the tables', 'enable and force it again on every table of the schema perdure'];
  return new Error(
    `row-level security does not bind ${role}, ${why}, so only Perdure's own checks keep workspaces apart: ${remedy}`,
  );
};

export const openPostgresStore = async (options: PostgresStoreOptions): Promise<RuntimeStore> => {
  const unknown = fieldProblem(options, fields);
  if (unknown) throw new PerdureError('INVALID_INPUT', `openPostgresStore: ${unknown}`);
  const { url, listenUrl = url, poolSize = postgresDefaults.poolSize } = options;
  const fallbackPollMs = checkMs('fallbackPollMs', options.fallbackPollMs ?? postgresDefaults.fallbackPollMs);
  const keepAliveMs = checkMs('keepAliveMs', options.keepAliveMs ?? postgresDefaults.keepAliveMs);
  const statementTimeoutMs = checkMs(
    'statementTimeoutMs',
    options.statementTimeoutMs ?? postgresDefaults.statementTimeoutMs,
  );
  const { onWarning = (problem) => process.emitWarning(problem) } = options;
  checkPoolSize('poolSize', poolSize, poolSize);
  if (options.listenUrl !== undefined) refuseNoAddress(options.listenUrl);
  const release = options.release ?? currentRelease();
  const database = new Database({ url, poolSize, statementTimeoutMs, release });
  try {
    const { writeLog, noteKey, pooled, unbound } = await database.use(async (client) => {
      const { rows } = await client.query(
        `select current_setting('fsync') as fsync, current_setting('server_encoding') as encoding, pg_backend_pid() as process,
          current_setting('server_version_num')::integer as version, current_setting('server_version') as server,
          to_regclass('perdure.meta') is not null as begun`,
      );
      refuseOldServers(rows[0].version, rows[0].server);
      refuseNoSync(rows[0].fsync);
      refuseOtherEncodings(rows[0].encoding);
      const pooled = isPooled(client, rows[0].process);
      if (pooled && (await losesStatements(client))) database.sendStatementsWhole(client);
      await migrate(client, {
        release,
        waitMs: statementTimeoutMs,
        isBegun: rows[0].begun,
        rebuild: rebuildWorkspaces,
      });
      const reading = [openWriteLog(client, database), readNoteKey(client), findUnbound(client)] as const;
      const [writeLog, noteKey, unbound] = await Promise.all(reading);
      return { pooled, unbound, writeLog, noteKey };
    });
    if (unbound) onWarning(unbound);
    const onListen = () => {
      if (pooled && options.listenUrl === undefined) onWarning(noHints(fallbackPollMs));
    };
    const tellSilence = (problem?: unknown) =>
      onWarning(problem === undefined ? noneHeard(fallbackPollMs) : noListener(problem, fallbackPollMs));
    const changes = new Changes(database, {
      listenUrl,
      noteSeal: new NoteSeal(noteKey),
      keepAliveMs,
      fallbackPollMs,
      onListen,
      tellSilence: options.listenUrl === undefined ? undefined : tellSilence,
    });
    return new PostgresStore(database, writeLog, changes);
  } catch (error) {
    await database.close();
    throw storeError(error);
  }
};
