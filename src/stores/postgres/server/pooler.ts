import { randomUUID } from 'node:crypto';
import type pg from 'pg';

/** A pooler announces itself as the process that serves us, and is not the one that does. */
export const isPooled = (client: pg.Client, servedBy: number): boolean =>
  servedBy !== (client as pg.Client & { readonly processID: number }).processID;

/**
 * Whether a statement that was prepared may be gone when it is used next: each transaction is given any of the connections to the server, and
 * one does not know what another was told. A pooler that takes care of that, as pgbouncer from 1.21 on, gives statements names of its own.
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
    `PostgreSQL is reached through a pooler, which passes no notifications on: name the server itself in PERDURE_LISTEN_URL (listenUrl); until then followers look for news every ${lookMs} ms. A pooler in session mode can be named there too.`,
  );
