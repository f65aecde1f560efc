import { once } from 'node:events';
import type { Socket } from 'node:net';
import pg from 'pg';
import { pause } from '../../../concurrency/pause.ts';
import { connectionOptions } from './database.ts';
import { noteChannel } from './note-post.ts';
import { channel } from './notifier.ts';

const ignore = (): void => undefined;
const firstRetryMs = 50;
const lastRetryMs = 5000;

export interface ListenerOptions {
  readonly url: string;
  /** How often to check the connection, and how long it may take to answer. */
  readonly keepAliveMs: number;
  /** Called when LISTEN has succeeded; earlier notifications were missed. */
  readonly onListening: () => void;
  readonly onNotification: (channel: string, payload: string) => void;
  /** Called when connecting fails; the next try waits for the returned promise. */
  readonly onFailure: (problem: unknown) => Promise<void>;
  /** Called after each check that the connection answers. */
  readonly onStanding: () => void;
}

/** One direct connection that receives notifications. Reconnects with back-off until it is closed. */
export class Listener {
  readonly #options: ListenerOptions;
  readonly #closing = new AbortController();
  #running: Promise<void> | undefined;
  #stop: (() => void) | undefined;
  isListening = false;

  constructor(options: ListenerOptions) {
    this.#options = options;
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
      const heard = await this.#listen().catch((problem) => this.#fail(problem));
      retryMs = heard ? firstRetryMs : Math.min(retryMs * 2, lastRetryMs);
      if (!signal.aborted) await pause(retryMs, { signal, keepsAlive: false });
    }
  }

  async #fail(problem: unknown): Promise<false> {
    if (!this.#closing.signal.aborted) await this.#options.onFailure(problem);
    return false;
  }

  /** Runs until the connection ends. */
  async #listen(): Promise<true> {
    const { url, keepAliveMs, onListening, onNotification, onStanding } = this.#options;
    const client = new pg.Client({ ...connectionOptions(url), query_timeout: keepAliveMs });
    client.on('error', ignore);
    client.on('notification', ({ channel, payload = '' }) => onNotification(channel, payload));
    const ended = once(client, 'end');
    ended.catch(ignore); // nothing awaits it when connecting fails
    // Destroys the stream, because the driver's own `end` waits for the server.
    const stop = () => client.connection.stream.destroy();
    this.#stop = stop;
    const listen = () => client.query(`listen ${channel}; listen ${noteChannel}`);
    let asking: NodeJS.Timeout | undefined;
    try {
      await client.connect();
      (client.connection.stream as Socket).unref(); // a follower that waits for a hint keeps the process alive
      await listen();
      asking = setInterval(() => listen().then(onStanding, stop), keepAliveMs).unref();
      this.isListening = true;
      if (this.#closing.signal.aborted) stop();
      else onListening();
      await ended;
      return true;
    } finally {
      this.isListening = false;
      clearInterval(asking);
      stop();
    }
  }
}
