import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Reply, Request, Writing } from './write.ts';

const program = fileURLToPath(new URL('./write.ts', import.meta.url));
const answerMs = 120_000;
const endMs = 5000;

/** A session in a separate process, so that one system's heap and event loop do not affect the others. */
export class Writer {
  readonly session: string;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, session: string) {
    this.#child = child;
    this.session = session;
  }

  static async start(writing: Writing): Promise<Writer> {
    const child = fork(program, [JSON.stringify(writing)], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
      stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    });
    const { session } = await answerOf(child, 'session');
    return new Writer(child, session);
  }

  async turns(count: number): Promise<readonly number[]> {
    return (await this.#ask({ kind: 'turns', count }, 'times')).times;
  }

  async fork(): Promise<number> {
    return (await this.#ask({ kind: 'fork' }, 'times')).times[0]!;
  }

  async durability(): Promise<string> {
    return (await this.#ask({ kind: 'durability' }, 'durability')).durability;
  }

  async close(): Promise<void> {
    await this.#ask({ kind: 'close' }, 'closed').catch(() => undefined);
    await end(this.#child);
  }

  async #ask<Key extends string>(request: Request, key: Key) {
    if (!this.#child.connected) throw new Error('the writer process has exited');
    this.#child.send(request);
    return answerOf(this.#child, key);
  }
}

const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  if (child.connected) child.disconnect();
  await Promise.race([exited, pause(endMs, undefined, { ref: false })]);
  child.kill('SIGKILL');
};

/** Waits for the answer that has `key`. Rejects if the process fails, ends or sends nothing for too long. */
const answerOf = async <Key extends string>(
  child: ChildProcess,
  key: Key,
): Promise<Extract<Reply, { readonly [K in Key]: unknown }>> => {
  const done = new AbortController();
  const { signal } = done;
  const [reply] = (await Promise.race([
    once(child, 'message', { signal }),
    once(child, 'exit', { signal }).then((how) => [{ failed: `its process ended with ${how.find(Boolean) ?? 0}` }]),
    pause(answerMs, [{ failed: `it gave no answer in ${answerMs / 1000} s` }], { signal }),
  ]).finally(() => done.abort())) as [Reply];
  if (key in reply) return reply as Extract<Reply, { readonly [K in Key]: unknown }>;
  await end(child);
  throw new Error('failed' in reply ? reply.failed : `it answered ${Object.keys(reply)}`);
};
