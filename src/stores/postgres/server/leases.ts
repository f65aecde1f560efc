import type pg from 'pg';
import { isConnectionLost } from './store-error.ts';

/** Keeps its connection between uses, as long as no other caller waits for one. */
export class Lease {
  readonly #pool: pg.Pool;
  #client: pg.PoolClient | undefined;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async use<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    this.#client ??= await this.#pool.connect();
    try {
      const result = await work(this.#client);
      if (this.#pool.waitingCount > 0) this.release();
      return result;
    } catch (error) {
      this.release(isConnectionLost(error));
      throw error;
    }
  }

  /**
   * Returns the connection to the pool. Closes it instead if a failure left a transaction open, or if the server no
   * longer accepts writes.
   */
  release(broken = false): void {
    this.#client?.release(broken || this.#client.getTransactionStatus() !== 'I');
    this.#client = undefined;
  }
}

/** Maximum reads per shared connection. With more, the last would wait longer than for its own connection. */
const maxShared = 4;

/** One connection for concurrent users. Their statements queue behind each other. */
export class SharedLease {
  readonly #client: Promise<pg.PoolClient>;
  #users = 0;
  #used = 0;
  #isBroken = false;

  constructor(pool: pg.Pool) {
    this.#client = pool.connect();
  }

  get isFull(): boolean {
    return this.#used === maxShared;
  }

  async use<T>(work: (client: pg.Client) => Promise<T>): Promise<T> {
    this.#users += 1;
    this.#used += 1;
    const client = await this.#client;
    try {
      return await work(client);
    } catch (error) {
      this.#isBroken ||= isConnectionLost(error);
      throw error;
    } finally {
      this.#users -= 1;
      if (this.#users === 0) client.release(this.#isBroken || client.getTransactionStatus() !== 'I');
    }
  }
}
