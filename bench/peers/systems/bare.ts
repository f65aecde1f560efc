import { randomUUID } from 'node:crypto';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import pg from 'pg';
import { BareRows } from '../../bare-rows.ts';
import type { BareLoop, EngineName } from '../../engines/engine.ts';
import { openBare } from '../../engines/postgres.ts';
import { ourSchema } from '../../engines/sqlite.ts';
import { openRows } from '../../engines/sqlite-rows.ts';
import { eventsPerTurn } from '../../workload.ts';
import type { Contender, Reader, Setting, System } from '../contender.ts';
import { fileOf } from '../contender.ts';
import { postgresDurability, sqliteDurability } from '../durability.ts';

interface Bare {
  readonly rows: BareLoop;
  /** Forks by inserting one row that names its parent. */
  fork(child: string, parent: string): Promise<void> | void;
  durability(): Promise<string>;
  close(): Promise<void> | void;
}

interface BareReader {
  /** Returns the payloads of the newest `limit` rows, oldest first. */
  payloads(session: string, limit: number): Promise<readonly string[]>;
  close(): Promise<void>;
}

interface Bares {
  open(address: string): Promise<Bare>;
  read(address: string): Promise<BareReader>;
}

const besideOurs = (address: string): string => join(dirname(fileOf(address)), 'bare.db');
const forks = 'create table forks (child text primary key, parent text not null)';

const sqlite: Bares = {
  open: async (address) => {
    const file = besideOurs(address);
    const { insert, close } = openRows(file, ourSchema(fileOf(address)));
    const db = new DatabaseSync(file);
    db.exec(`PRAGMA synchronous = FULL; ${forks}`);
    const addFork = db.prepare('INSERT INTO forks VALUES (?, ?)');
    return {
      rows: { insert, close: async () => close() },
      fork: (child, parent) => void addFork.run(child, parent),
      durability: () => sqliteDurability((pragma) => Object.values(db.prepare(`PRAGMA ${pragma}`).get()!)[0]),
      close: () => db.close(),
    };
  },
  read: async (address) => {
    const db = new DatabaseSync(besideOurs(address), { readOnly: true });
    const sql = "SELECT payload FROM events WHERE workspace = 'local' AND session = ? ORDER BY seq DESC LIMIT ?";
    const select = db.prepare(sql);
    return {
      payloads: async (session, limit) => {
        const rows = select.all(session, limit);
        return rows.map(({ payload }) => Buffer.from(payload as Uint8Array).toString()).toReversed();
      },
      close: async () => db.close(),
    };
  },
};

const postgres: Bares = {
  open: async (address) => {
    const rows = await openBare(address);
    const client = new pg.Client(address);
    await client.connect();
    await client.query(forks);
    const text = 'insert into forks values ($1, $2)';
    return {
      rows,
      fork: async (child, parent) => void (await client.query({ name: 'fork', text, values: [child, parent] })),
      durability: async () => postgresDurability,
      close: () => client.end(),
    };
  },
  read: async (address) => {
    const client = new pg.Client(address);
    await client.connect();
    const sql = "select payload from bare_events where workspace = 'local' and session = $1 order by seq desc limit $2";
    return {
      payloads: async (session, limit) => {
        const { rows } = await client.query<{ payload: Buffer }>(sql, [session, limit]);
        return rows.map(({ payload }) => payload.toString()).toReversed();
      },
      close: () => client.end(),
    };
  },
};

const bares: Record<EngineName, Bares> = { sqlite, postgres };

/** Opens the library once to create its tables, from which the bare table is copied. */
const makeOurTables = async ({ address, libraryUrl }: Setting): Promise<void> => {
  const { openRuntime } = (await import(libraryUrl)) as Pick<typeof import('../../../src/index.ts'), 'openRuntime'>;
  await (await openRuntime({ store: address })).close();
};

/** The upper bound: only SQL, with rows prepared in advance. */
export const bare: System = {
  write: async (setting): Promise<Contender> => {
    await makeOurTables(setting);
    const { rows, fork, durability, close } = await bares[setting.engine].open(setting.address);
    const session = `ses_${randomUUID()}`;
    const made = new BareRows();
    return {
      session,
      prepare: (turn) => {
        const all = turn.map((message) => made.rowOf(session, message));
        const groups = setting.mode === 'turn' ? [all] : all.map((row) => [row]);
        return async () => {
          for (const group of groups) await rows.insert(group);
        };
      },
      fork: async () => fork(randomUUID(), session),
      durability,
      close: async () => {
        await rows.close();
        await close();
      },
    };
  },
  read: async ({ engine, address }): Promise<Reader> => {
    const { payloads, close } = await bares[engine].read(address);
    return {
      read: async ({ session, what, contextTurns }) => {
        const limit = what === 'all' ? Number.MAX_SAFE_INTEGER : contextTurns * eventsPerTurn;
        return (await payloads(session, limit)).map((payload) => JSON.parse(payload) as unknown).length;
      },
      close,
    };
  },
};
