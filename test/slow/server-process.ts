import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';
import { openRuntime } from '../../src/index.ts';
import { newSqliteFile } from '../support/stores/sqlite-file.ts';

const program = fileURLToPath(new URL('./sse-server.ts', import.meta.url));

/** A server that can be killed and restarted on the same address, with a session to follow. */
export class ServerProcess {
  readonly key: string;
  readonly session: string;
  readonly #store: string;
  #child: ChildProcess | undefined;
  #port = 0;
  /** How many events were acknowledged. */
  appended = 0;

  private constructor(store: string, key: string, session: string) {
    this.#store = store;
    this.key = key;
    this.session = `/v1/sessions/${session}`;
  }

  static async start(): Promise<ServerProcess> {
    const store = `sqlite:${newSqliteFile()}`;
    const runtime = await openRuntime({ store });
    const { token } = await runtime.keys.create();
    const { id } = await runtime.sessions.open();
    await runtime.close();
    const server = new ServerProcess(store, token, id);
    onTestFinished(() => server.kill());
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    this.#child = fork(program, [this.#store, String(this.#port)], { execArgv: [] });
    const [{ url }] = (await once(this.#child, 'message')) as [{ url: string }];
    this.#port = Number(new URL(url).port);
  }

  async kill(): Promise<void> {
    if (!this.#child || this.#child.signalCode) return;
    const gone = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await gone;
  }

  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** The resident memory of the whole process, as the system reports it. */
  residentBytes(): number {
    return this.#statusBytes(/^VmRSS:\s+(\d+)/m);
  }

  /** The peak resident memory of the process. */
  peakBytes(): number {
    return this.#statusBytes(/^VmHWM:\s+(\d+)/m);
  }

  #statusBytes(line: RegExp): number {
    const [, kilobytes = '0'] = line.exec(readFileSync(`/proc/${this.#child!.pid}/status`, 'utf8')) ?? [];
    return 1024 * Number(kilobytes);
  }

  /**
   * The memory in use: the minimum after several garbage collections, because finished responses are released with a
   * delay.
   */
  async usedBytes(): Promise<number> {
    let least = Infinity;
    for (let collection = 0; collection < 10; collection++) {
      const answered = once(this.#child!, 'message');
      this.#child!.send('memory');
      const [{ memory }] = (await answered) as [{ memory: NodeJS.MemoryUsage }];
      least = Math.min(least, memory.heapUsed + memory.external);
      await sleep(100);
    }
    return least;
  }

  /** Appends exactly once, even if the server is killed in the meantime. */
  async append(content: string, idempotencyKey: string): Promise<void> {
    for (;;) {
      try {
        const answer = await fetch(`${this.url}${this.session}/messages`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${this.key}`,
            'content-type': 'application/json',
            'idempotency-key': idempotencyKey,
          },
          body: JSON.stringify({ messages: [{ role: 'user', content }] }),
        });
        const text = await answer.text();
        if (answer.ok) {
          this.appended++;
          return;
        }
        throw new Error(`${answer.status} ${text}`, { cause: answer.status });
      } catch (error) {
        if (typeof (error as Error).cause === 'number') throw error;
        await sleep(50); // the server is restarting
      }
    }
  }
}
