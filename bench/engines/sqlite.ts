import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { MessagePort, Worker } from 'node:worker_threads';
import type { BareLoop, BareReads, Engine, GroupSizes, Place, ReadIds } from './engine.ts';
import { openRows } from './sqlite-rows.ts';

export const ourSchema = (file: string): string => {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare("SELECT sql FROM sqlite_schema WHERE tbl_name = 'events' AND sql IS NOT NULL").all();
  db.close();
  return rows.map(({ sql }) => `${sql};`).join('\n');
};

const openBare = (ours: string, file: string): BareLoop => {
  const rows = openRows(file, ourSchema(ours));
  return { insert: rows.insert, close: async () => rows.close() };
};

const openReads = (file: string, { key, member, session }: ReadIds): BareReads => {
  const db = new DatabaseSync(file, { readOnly: true });
  const record = db.prepare(
    "SELECT version, at, due_at, body FROM records WHERE workspace = 'local' AND kind = ? AND id = ?",
  );
  const head = db.prepare("SELECT * FROM sessions WHERE workspace = 'local' AND id = ?");
  return {
    read: () => {
      record.get('key', key);
      record.get('member', member);
      head.get(session);
    },
    close: async () => db.close(),
  };
};

interface Replies {
  readonly replies?: readonly { readonly value?: { readonly outcome?: string } }[];
}

/**
 * Listeners that receive the number of appends in each transaction. The writer thread answers each transaction with
 * one message.
 */
const onAppended = new Set<(appends: number) => void>();
const { on } = MessagePort.prototype;
MessagePort.prototype.on = function (this: MessagePort, name: 'message', listener: (message: Replies) => void) {
  if (name !== 'message') return on.call(this, name, listener);
  return on.call(this, name, (message: Replies) => {
    const appends = message.replies?.filter(({ value }) => value?.outcome === 'appended').length ?? 0;
    if (appends > 0) for (const tell of onAppended) tell(appends);
    listener(message);
  });
} as typeof on;

const openGroupSizes = (): GroupSizes => {
  let [appends, transactions] = [0, 0];
  const count = (more: number): void => {
    appends += more;
    transactions += 1;
  };
  onAppended.add(count);
  return { mean: async () => appends / transactions, close: async () => void onAppended.delete(count) };
};

const openBehindThread = (ours: string, file: string): BareLoop => {
  const worker = new Worker(new URL('./sqlite-thread.ts', import.meta.url), {
    workerData: { file, schema: ourSchema(ours) },
  });
  return {
    insert: async (rows) => {
      worker.postMessage(rows);
      await once(worker, 'message');
    },
    close: async () => {
      await worker.terminate();
    },
  };
};

export const sqliteEngine = async (): Promise<Engine> => ({
  name: 'sqlite',
  newPlace: async (): Promise<Place> => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-bench-'));
    const file = join(folder, 'perdure.db');
    return {
      address: `sqlite:${file}`,
      bytes: async () => {
        const db = new DatabaseSync(file);
        db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
        db.close();
        return (await stat(file)).size;
      },
      openBare: async () => openBare(file, join(folder, 'bare.db')),
      openReads: async (ids) => openReads(file, ids),
      openGroupSizes: async () => openGroupSizes(),
      openBehindThread: async () => openBehindThread(file, join(folder, `${randomUUID()}.db`)),
      remove: () => rm(folder, { recursive: true }),
    };
  },
  close: async () => undefined,
});
