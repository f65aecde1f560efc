import type { RuntimeStore } from '../../core/ports/runtime-store.ts';
import { PerdureError } from '../../schema/error.ts';
import { fieldProblem } from '../../schema/field-problem.ts';
import { currentRelease } from '../release.ts';
import { Changes } from './changes.ts';
import { Database } from './database.ts';
import { migrate } from './migrations.ts';
import { PostgresStore } from './postgres-store.ts';
import { storeError } from './store-error.ts';
import { openWriteLog } from './write-log.ts';

export interface PostgresStoreOptions {
  /**
   * `postgres://user:password@host:port/database`. Use an ordinary role: row-level security keeps workspaces apart for it, also when it
   * owns the tables, but never for a superuser or a role with BYPASSRLS.
   */
  readonly url: string;
  /** A direct connection for LISTEN, where `url` leads to a pooler that shares connections between clients. */
  readonly listenUrl?: string;
  readonly poolSize?: number;
  /** How often watched sessions are looked at in case a notification was lost. */
  readonly fallbackPollMs?: number;
  readonly statementTimeoutMs?: number;
  /** For tests: the release that opens the database. */
  readonly release?: string;
}

const fields: Record<keyof PostgresStoreOptions, true> = {
  url: true,
  listenUrl: true,
  poolSize: true,
  fallbackPollMs: true,
  statementTimeoutMs: true,
  release: true,
};

const refuseNoSync = (fsync: string): void => {
  if (fsync === 'on') return;
  throw new PerdureError(
    'STORE_UNAVAILABLE',
    'PostgreSQL runs with fsync off: what it acknowledges may be lost with the power; set fsync = on and try again',
    { details: { fsync } },
  );
};

const refuseOtherEncodings = (encoding: string): void => {
  if (encoding === 'UTF8') return;
  throw new PerdureError(
    'STORE_UNAVAILABLE',
    `the database is in ${encoding}, which does not hold every text: make one with \`create database … encoding 'UTF8' template template0\` and name it in the URL`,
    { details: { encoding } },
  );
};

export const openPostgresStore = async (options: PostgresStoreOptions): Promise<RuntimeStore> => {
  const unknown = fieldProblem(options, fields);
  if (unknown) throw new PerdureError('INVALID_INPUT', `openPostgresStore: ${unknown}`);
  const { url, listenUrl = url, poolSize = 8, fallbackPollMs = 5000, statementTimeoutMs = 10_000 } = options;
  const database = new Database({ url, poolSize, statementTimeoutMs });
  try {
    const writeLog = await database.use(async (client) => {
      const { rows } = await client.query(
        `select current_setting('fsync') as fsync, current_setting('server_encoding') as encoding`,
      );
      refuseNoSync(rows[0].fsync);
      refuseOtherEncodings(rows[0].encoding);
      await migrate(client, options.release ?? currentRelease(), statementTimeoutMs);
      return openWriteLog(client, statementTimeoutMs);
    });
    return new PostgresStore(database, writeLog, new Changes(database, { listenUrl, fallbackPollMs }));
  } catch (error) {
    await database.close();
    throw storeError(error);
  }
};
