import pg from 'pg';

/** The server may close an idle connection, for example when its database is dropped. That must not fail a test. */
export const newPgClient = (url: string): pg.Client => {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  return client;
};
