import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Env } from '../parse/world.ts';

/** Workers in separate processes. All of them end when the demo ends. */
export class WorkerProcesses {
  readonly #started: ChildProcess[] = [];
  readonly #folder: string;
  readonly #env: Env;

  constructor(folder: string, env: Env) {
    this.#folder = folder;
    this.#env = env;
  }

  start(args: readonly string[]): ChildProcess {
    const child = spawn(process.execPath, [process.argv[1]!, ...args], {
      cwd: this.#folder,
      env: this.#env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.resume();
    this.#started.push(child);
    return child;
  }

  get newest(): ChildProcess {
    return this.#started.at(-1)!;
  }

  async stop(): Promise<void> {
    const alive = this.#started.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
    await Promise.all(
      alive.map((child) => {
        const gone = once(child, 'exit');
        child.kill('SIGKILL');
        return gone;
      }),
    );
  }
}
