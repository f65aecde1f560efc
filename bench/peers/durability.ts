const levels = ['OFF', 'NORMAL', 'FULL', 'EXTRA'];

/** The durability settings that a SQLite connection reports. */
export const sqliteDurability = async (ask: (pragma: string) => unknown): Promise<string> => {
  const mode = String(await ask('journal_mode')).toUpperCase();
  return `${mode}, synchronous=${levels[Number(await ask('synchronous'))]}`;
};

/** The settings of the server. No client changes them for its connections. */
export const postgresDurability = 'fsync=on, synchronous_commit=on';
