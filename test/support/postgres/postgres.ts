import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { askPostgres } from './ask-postgres.ts';

export interface TestDatabase {
  /** Connects as an ordinary role that owns the database. */
  url: string;
  /** Connects to the same database as the superuser, whom row-level security doesn't bind. */
  adminUrl: string;
  /** Nobody waits for it: it takes a checkpoint, and what is left of it goes with the server. */
  drop(): Promise<void>;
}

/** A fresh, empty database on the server of this test run. */
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
