import { randomUUID } from 'node:crypto';
import type { Database } from './database.ts';
import { channel, notify } from './notifier.ts';

/**
 * Reports that no hints arrive. `problem` is the error if the connection failed. Without it, there is a connection,
 * but no hints arrive on it.
 */
export type TellSilence = (problem?: unknown) => void;

/**
 * Detects that no hints arrive through the configured listen address. Warns once, and again only after hints have
 * arrived in between.
 */
export class HintProbe {
  readonly #database: Database;
  readonly #tellSilence: TellSilence;
  readonly #text = randomUUID();
  /** Whether the store accepted the last probe. */
  #isSent = false;
  #isHeard = false;
  #isReported = false;

  constructor(database: Database, tellSilence: TellSilence) {
    this.#database = database;
    this.#tellSilence = tellSilence;
  }

  /** Sends a probe after a connection was made, because LISTEN also succeeds on a pooler or on another database. */
  async send(): Promise<void> {
    this.#isSent = false;
    this.#isHeard = false;
    const sent = this.#database.use((client) => client.query(notify(channel, [this.#text])));
    this.#isSent = await sent.then(
      () => true,
      () => false,
    );
  }

  /**
   * Handles a failed connection. Warns only if the store accepted a probe before the attempt, which rules out an
   * outage.
   */
  async failed(problem: unknown): Promise<void> {
    this.#reportUnheard(problem);
    await this.send();
  }

  /**
   * Called when the listening connection has answered a check. A probe that was sent before that answer must have
   * arrived by now.
   */
  stands(): void {
    this.#reportUnheard();
  }

  heard(text: string): void {
    if (text !== this.#text) return;
    this.#isHeard = true;
    this.#isReported = false;
  }

  #reportUnheard(problem?: unknown): void {
    if (!this.#isSent || this.#isHeard || this.#isReported) return;
    this.#isReported = true;
    this.#tellSilence(problem);
  }
}
