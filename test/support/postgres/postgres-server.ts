import type { TestProject } from 'vitest/node';
import { newPgClient } from './pg-client.ts';
import type { PostgresAddress } from './postgres-process.ts';
import { startPostgres } from './start-postgres.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    postgres: PostgresAddress & { appRole: string; appPassword: string };
  }
}

/** Vitest's global setup: starts one real PostgreSQL for the whole run, or fails the run. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { host, port, adminUrl, close } = await startPostgres();
  const appRole = 'perdure_app';
  const appPassword = 'app';
  const admin = newPgClient(adminUrl);
  try {
    await admin.connect();
    // An ordinary role, as in production, so that row-level security applies to it.
    await admin.query(`create role ${appRole} login nosuperuser nobypassrls nocreatedb password '${appPassword}'`);
  } catch (error) {
    await close();
    throw error;
  } finally {
    await admin.end();
  }
  project.provide('postgres', { host, port, adminUrl, appRole, appPassword });
  return close;
}
