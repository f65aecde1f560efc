import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A separate process that answers each request when its work is done. */
export class Program<Asked extends object | string, Answer> {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  /** `file` is relative to this file. */
  static async start<Asked extends object | string, Answer>(
    file: string,
    args: readonly string[],
  ): Promise<Program<Asked, Answer>> {
    const program = new Program<Asked, Answer>(
      fork(fileURLToPath(new URL(file, import.meta.url)), args, { execArgv: [] }),
    );
    await program.#answer();
    return program;
  }

  ask(what: Asked): Promise<Answer> {
    this.#child.send(what);
    return this.#answer();
  }

  async end(signal?: NodeJS.Signals): Promise<void> {
    const exited = once(this.#child, 'exit');
    if (signal) this.#child.kill(signal);
    else this.#child.disconnect();
    await exited;
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async #answer(): Promise<Answer> {
    const given = new AbortController();
    const { signal } = given;
    const [answer] = await Promise.race([
      once(this.#child, 'message', { signal }),
      once(this.#child, 'exit', { signal }).then(([code, killed]) => {
        throw new Error(`${this.#child.spawnargs.at(2)} ended with ${code ?? killed}`);
      }),
    ]).finally(() => given.abort());
    return answer;
  }
}

/** Used in the separate process: answers each request with the result of `work`. */
export const answer = <Asked>(work: (asked: Asked) => unknown): void => {
  process.on('message', async (asked: Asked) => process.send!((await work(asked)) ?? 'done'));
  process.once('disconnect', () => process.exit());
  process.send!('ready');
};
