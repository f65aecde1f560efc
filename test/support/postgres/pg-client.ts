import pg from 'pg';

/** A connection may be ended by its server while nobody asks it anything, as when its database is dropped: that is no failure of a test. */
export const newPgClient = (url: string): pg.Client => {
  const client = new pg.Client(url);
  client.on('error', () => undefined);
  return client;
};
