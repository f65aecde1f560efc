import { randomUUID } from 'node:crypto';
import type { Database } from './database.ts';
import { channel, notify } from './notifier.ts';

/** With why there is no connection; without it there is one, and nothing comes. */
export type TellSilence = (problem?: unknown) => void;

/** Finds out that no hints come by the address that was named for them, and tells so once, until they do. */
export class HintProbe {
  readonly #database: Database;
  readonly #tellSilence: TellSilence;
  readonly #text = randomUUID();
  /** The store took the last one. */
  #isSent = false;
  #isHeard = false;
  #isTold = false;

  constructor(database: Database, tellSilence: TellSilence) {
    this.#database = database;
    this.#tellSilence = tellSilence;
  }

  /** When a connection was made: a pooler and another database let us listen too. */
  async send(): Promise<void> {
    this.#isSent = false;
    this.#isHeard = false;
    const sent = this.#database.use((client) => client.query(notify(channel, [this.#text])));
    this.#isSent = await sent.then(
      () => true,
      () => false,
    );
  }

  /** No connection was made. Where the store had answered before that was tried, no outage is to blame. */
  async failed(problem: unknown): Promise<void> {
    this.#tellUnheard(problem);
    await this.send();
  }

  /** What was sent before the connection answered would have come before the answer. */
  stands(): void {
    this.#tellUnheard();
  }

  heard(text: string): void {
    if (text !== this.#text) return;
    this.#isHeard = true;
    this.#isTold = false;
  }

  #tellUnheard(problem?: unknown): void {
    if (!this.#isSent || this.#isHeard || this.#isTold) return;
    this.#isTold = true;
    this.#tellSilence(problem);
  }
}
