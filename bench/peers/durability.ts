const levels = ['OFF', 'NORMAL', 'FULL', 'EXTRA'];

/** What a connection to SQLite says of itself. */
export const sqliteDurability = async (ask: (pragma: string) => unknown): Promise<string> => {
  const mode = String(await ask('journal_mode')).toUpperCase();
  return `${mode}, synchronous=${levels[Number(await ask('synchronous'))]}`;
};

/** No client changes it for its connections. */
export const postgresDurability = 'fsync=on, synchronous_commit=on';
