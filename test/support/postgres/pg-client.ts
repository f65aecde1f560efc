import pg from 'pg';

/**
 * A client that ignores errors of an idle connection. The server may close one, for example when its database is
 * dropped, and that must not fail a test.
 */
export const newPgClient = (url: string): pg.Client => {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  return client;
};
