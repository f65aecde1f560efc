import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Follow, Load } from './http-client.ts';

const program = fileURLToPath(new URL('./http-client.ts', import.meta.url));

/** A client of servers, in a separate process. */
export class Client {
  readonly #child = fork(program, { execArgv: [] });
  readonly #seen = new Map<string, (at: bigint) => void>();
  readonly #asked: ((ms: number) => void)[] = [];

  constructor() {
    this.#child.on('message', (message: [string, number, string] | { readonly ms: number }) => {
      if (!Array.isArray(message)) return this.#asked.shift()!(message.ms);
      const [url, seq, at] = message;
      this.#seen.get(`${url} ${seq}`)?.(BigInt(at));
    });
  }

  timeOf(work: Omit<Load, 'kind'>): Promise<number> {
    const { promise, resolve } = Promise.withResolvers<number>();
    this.#asked.push(resolve);
    this.#child.send({ kind: 'load', ...work } satisfies Load);
    return promise;
  }

  follow(work: Omit<Follow, 'kind'>): void {
    this.#child.send({ kind: 'follow', ...work } satisfies Follow);
  }

  /** When the client received the event, by the monotonic clock of the machine. */
  seen(url: string, seq: number): Promise<bigint> {
    return new Promise((resolve) => this.#seen.set(`${url} ${seq}`, resolve));
  }

  async close(): Promise<void> {
    this.#child.disconnect();
    await once(this.#child, 'exit');
  }
}
