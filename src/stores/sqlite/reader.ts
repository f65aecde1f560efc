import { statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { type ConnectionOptions, openConnection } from './connection.ts';
import { type FirstReads, openFirstReads } from './first-reads.ts';
import { isCurrent } from './migrations.ts';
import type { ValueOf } from './protocol.ts';
import type { ReaderOperations } from './serve-reads.ts';
import type { ThreadClient } from './thread-client.ts';

/** A command of a moment is over by then and never needs a thread. */
export const startAfterMs = 50;
/** The event loop turns to nothing else while it reads. */
const maxHereMs = 50;
/** What a crash left in the log is read through when the file is opened: above this it takes more than a few milliseconds. */
const maxLogBytes = 4 * 1024 * 1024;

export interface EarlyReads {
  readonly db: DatabaseSync;
  readonly reads: FirstReads;
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;

/** Undefined where it could take long, as for a file to be made or brought up to date, and where anything is wrong: the thread says what. */
export const openEarlyReads = (options: ConnectionOptions & { readonly release: string }): EarlyReads | undefined => {
  const { file, release } = options;
  if (sizeOf(file) === 0 || sizeOf(`${file}-wal`) > maxLogBytes) return undefined;
  let db: DatabaseSync | undefined;
  try {
    db = openConnection({ ...options, busyTimeoutMs: 0, readOnly: true });
    if (!isCurrent(db, file, release)) throw new Error('the schema is another');
    return { db, reads: openFirstReads(db, file).operations };
  } catch {
    db?.close();
    return undefined;
  }
};

/**
 * The event loop's side of reading. A thread takes longer to begin than a session takes to open: what is asked for before it has begun
 * is read here. What fails here is asked of the thread, which tells why.
 */
export class Reader {
  readonly #thread: ThreadClient<ReaderOperations>;
  #early: EarlyReads | undefined;
  #hereMs = 0;
  #starting: NodeJS.Timeout | undefined;

  constructor(thread: ThreadClient<ReaderOperations>, early: EarlyReads | undefined) {
    this.#thread = thread;
    this.#early = early;
  }

  async open(): Promise<void> {
    if (!this.#early) return this.#thread.call('open', []);
    const end = () => this.#endEarly();
    this.#starting = setTimeout(() => this.#thread.call('open', []).then(end, end), startAfterMs).unref();
  }

  async call<Op extends keyof ReaderOperations>(
    op: Op,
    args: Parameters<ReaderOperations[Op]>,
  ): Promise<ValueOf<ReaderOperations[Op]>> {
    const read = this.#early?.reads[op as keyof FirstReads] as ((...args: unknown[]) => { value: never }) | undefined;
    const found = read && this.#readHere(() => read(...args));
    return found ? found.value : this.#thread.call(op, args);
  }

  async close(): Promise<void> {
    this.#endEarly();
    await this.#thread.close(() => this.#thread.call('close', []));
  }

  async stop(): Promise<void> {
    this.#endEarly();
    await this.#thread.stop();
  }

  #readHere<T>(read: () => T): T | undefined {
    const began = performance.now();
    try {
      const found = read();
      this.#hereMs += performance.now() - began;
      if (this.#hereMs > maxHereMs) this.#endEarly();
      return found;
    } catch {
      this.#endEarly();
      return undefined;
    }
  }

  #endEarly(): void {
    clearTimeout(this.#starting);
    this.#early?.db.close();
    this.#early = undefined;
  }
}
