import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { connectionOptions } from './database.ts';
import { channel } from './notifier.ts';

const ignore = (): void => undefined;
const firstRetryMs = 50;
const lastRetryMs = 5000;

export interface ListenerEvents {
  /** Notifications arrive from here on; what came before was missed. */
  readonly onListening: () => void;
  readonly onNotification: (payload: string | undefined) => void;
}

/** One direct connection that hears notifications, made anew for as long as it takes. */
export class Listener {
  readonly #url: string;
  readonly #events: ListenerEvents;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #stop: (() => void) | undefined;

  constructor(url: string, events: ListenerEvents) {
    this.#url = url;
    this.#events = events;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#stop?.();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing;
    let retryMs = firstRetryMs;
    while (!signal.aborted) {
      const heard = await this.#listen().catch(() => false);
      retryMs = heard ? firstRetryMs : Math.min(retryMs * 2, lastRetryMs);
      if (!signal.aborted) await pause(retryMs, undefined, { ref: false, signal }).catch(ignore);
    }
  }

  /** Until the connection ends; false when there was none. */
  async #listen(): Promise<boolean> {
    const client = new pg.Client({ ...connectionOptions(this.#url), keepAliveInitialDelayMillis: 10_000 });
    client.on('error', ignore);
    client.on('notification', ({ payload }) => this.#events.onNotification(payload));
    const ended = once(client, 'end');
    ended.catch(ignore); // nobody waits for it when connecting fails
    // Asked to end while it connects, the driver would leave the attempt unanswered.
    this.#stop = () => client.connection.stream.destroy();
    await client.connect();
    await client.query(`listen ${channel}`);
    this.#stop = () => void client.end();
    if (this.#closing.signal.aborted) this.#stop();
    else this.#events.onListening();
    await ended;
    return true;
  }
}
