import { DatabaseSync } from 'node:sqlite';

/** How many events are stored under the session's own name, without those it inherits. */
export const countRows = (file: string, session: string): number => {
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare('SELECT count(*) AS rows FROM events WHERE session = ?').get(session);
  database.close();
  return Number(row?.rows);
};

/** A copy of the database in which one bit of one stored event is another, as no program of ours would do. */
export const copyWithAChangedByte = (file: string, copy: string, session: string, seq: number): void => {
  const original = new DatabaseSync(file, { readOnly: true });
  original.prepare('VACUUM INTO ?').run(copy);
  original.close();
  const database = new DatabaseSync(copy);
  const event = 'workspace = ? AND session = ? AND seq = ?';
  const place = ['local', session, seq] as const;
  const { payload } = database.prepare(`SELECT payload FROM events WHERE ${event}`).get(...place) as {
    payload: Uint8Array;
  };
  payload[payload.length >> 1]! ^= 1;
  database.prepare(`UPDATE events SET payload = ? WHERE ${event}`).run(payload, ...place);
  database.close();
};
