import { randomBytes } from 'node:crypto';
import { inject } from 'vitest';
import { newPgClient } from './pg-client.ts';
import type { PostgresAddress } from './postgres-process.ts';

export interface TestDatabase {
  /** Connects as an ordinary role that owns the database. */
  url: string;
  /** Connects to the same database as the superuser, whom row-level security doesn't bind. */
  adminUrl: string;
  /** Nobody waits for it: it takes a checkpoint, and what is left of it goes with the server. */
  drop(): Promise<void>;
}

async function runAsAdmin(url: string, ...statements: string[]): Promise<void> {
  const client = newPgClient(url);
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** A fresh, empty database on the server of this test run. */
export async function createDatabase(options = ''): Promise<TestDatabase> {
  const { adminUrl, appRole, appPassword, host, port } = inject('postgres');
  const name = `test_${randomBytes(6).toString('hex')}`;
  await runAsAdmin(adminUrl, `create database ${name} owner ${appRole} ${options}`);
  return {
    url: `postgres://${appRole}:${appPassword}@${host}:${port}/${name}`,
    adminUrl: Object.assign(new URL(adminUrl), { pathname: `/${name}` }).href,
    drop: async () => void runAsAdmin(adminUrl, `drop database if exists ${name} with (force)`).catch(() => undefined),
  };
}

/** The one database of a server that a test started for itself; gives the URL of the ordinary role that owns it. */
export async function createOnlyDatabase({ adminUrl, host, port }: PostgresAddress): Promise<string> {
  await runAsAdmin(
    adminUrl,
    `create role app login nosuperuser nobypassrls password 'app'`,
    'create database app owner app',
  );
  return `postgres://app:app@${host}:${port}/app`;
}
