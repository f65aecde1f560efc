import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { askPostgres } from './ask-postgres.ts';

export interface TestDatabase {
  /** Connects as an ordinary role that owns the database. */
  url: string;
  /** Connects to the same database as the superuser, to whom row-level security does not apply. */
  adminUrl: string;
  /**
   * Starts the drop without waiting for it, because it takes a checkpoint. The server's end removes anything left.
   */
  drop(): Promise<void>;
}

/** Creates an empty database on the PostgreSQL server of this test run. */
export async function createDatabase(options = ''): Promise<TestDatabase> {
  const { adminUrl, appRole, appPassword, host, port } = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await askPostgres(adminUrl, `create database ${name} owner ${appRole} ${options}`);
  return {
    url: `postgres://${appRole}:${appPassword}@${host}:${port}/${name}`,
    adminUrl: Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href,
    drop: async () => void askPostgres(adminUrl, `drop database if exists ${name} with (force)`).catch(() => undefined),
  };
}
