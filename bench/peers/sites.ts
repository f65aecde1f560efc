import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import type { Engine, Place } from '../engines/engine.ts';
import { fileOf } from './contender.ts';

/** A new database for one system. */
export interface Site {
  readonly address: string;
  /** The size on disk, including the write-ahead log. */
  grossBytes(): Promise<number>;
  /** The size on disk after the write-ahead log was merged into the database. No process may be writing. */
  netBytes(): Promise<number>;
  remove(): Promise<void>;
}

const folderBytes = async (folder: string): Promise<number> => {
  let bytes = 0;
  for (const name of await readdir(folder)) bytes += (await stat(join(folder, name))).size;
  return bytes;
};

const checkpoint = (file: string): void => {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  db.close();
};

const sqliteSite = ({ address, remove }: Place): Site => {
  const folder = dirname(fileOf(address));
  const databases = async () => (await readdir(folder)).filter((name) => name.endsWith('.db'));
  return {
    address,
    grossBytes: () => folderBytes(folder),
    netBytes: async () => {
      let bytes = 0;
      for (const name of await databases()) {
        checkpoint(join(folder, name));
        bytes += (await stat(join(folder, name))).size;
      }
      return bytes;
    },
    remove,
  };
};

const postgresSite = ({ address, remove }: Place): Site => {
  const bytes = async () => {
    const client = new pg.Client(address);
    await client.connect();
    const { rows } = await client.query('select pg_database_size(current_database())::float8 as bytes');
    await client.end();
    return rows[0].bytes as number;
  };
  return { address, grossBytes: bytes, netBytes: bytes, remove };
};

export const newSite = async (engine: Engine): Promise<Site> => {
  const place = await engine.newPlace();
  return engine.name === 'sqlite' ? sqliteSite(place) : postgresSite(place);
};
