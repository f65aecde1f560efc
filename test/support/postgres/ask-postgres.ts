import type pg from 'pg';
import { newPgClient } from './pg-client.ts';

/** Runs one statement on a new connection, as a person with psql would. */
export const askPostgres = async <Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  ...values: readonly unknown[]
): Promise<readonly Row[]> => {
  const client = newPgClient(url);
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
};
