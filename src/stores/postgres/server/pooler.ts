import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/**
 * Whether the connection leads through a pooler. A pooler reports its own process id, which differs from that of the
 * serving backend.
 */
export const isPooled = (client: pg.Client, servedBy: number): boolean =>
  servedBy !== (client as pg.Client & { readonly processID: number }).processID;

/**
 * Whether the pooler may lose prepared statements. Each transaction may get another server connection, which lacks
 * the statements of the previous one. A pooler that handles this, like pgbouncer since 1.21, renames the statements.
 */
export const losesStatements = async (client: pg.Client): Promise<boolean> => {
  const name = `perdure.${randomUUID()}`;
  await client.query('begin read only');
  const { rows } = await client.query({
    name,
    text: 'select from pg_catalog.pg_prepared_statements where name = $1',
    values: [name],
  });
  const isUnchanged = rows.length > 0;
  if (isUnchanged) await client.query(`deallocate "${name}"`);
  await client.query('commit');
  return isUnchanged;
};

export const noHints = (lookMs: number): Error =>
  new Error(
    `PostgreSQL is reached through a pooler, which forwards no notifications: name the server itself in PERDURE_LISTEN_URL (listenUrl); until then followers poll every ${lookMs} ms. A pooler in session mode works too.`,
  );
