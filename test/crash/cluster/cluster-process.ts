import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startPerdure } from '../../perdure-command.ts';
import type { WorkerPlan } from './worker-process.ts';

const keptLines = 20;

/** A process that is killed and started again. That it ends by itself is a problem. */
export class ClusterProcess {
  readonly name: string;
  readonly problems: string[] = [];
  readonly #launch: () => ChildProcess;
  readonly #isReady: (child: ChildProcess) => Promise<unknown>;
  readonly #said: string[] = [];
  #child!: ChildProcess;
  /** By us. */
  #isEnded = true;

  constructor(name: string, launch: () => ChildProcess, isReady: (child: ChildProcess) => Promise<unknown>) {
    this.name = name;
    this.#launch = launch;
    this.#isReady = isReady;
  }

  async start(): Promise<void> {
    const child = this.#launch();
    this.#child = child;
    this.#isEnded = false;
    createInterface({ input: child.stderr! }).on('line', (line) => {
      this.#said.push(line);
      this.#said.splice(0, this.#said.length - keptLines);
    });
    const died = once(child, 'exit').then(([code, signal]) => {
      if (this.#isEnded) return;
      this.problems.push([`${this.name} ended by itself (${code ?? signal}):`, ...this.#said].join('\n  '));
      throw new Error(this.problems.at(-1));
    });
    died.catch(() => undefined);
    await Promise.race([this.#isReady(child), died]);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** As its operator would. */
  async stop(): Promise<void> {
    const code = await this.#end('SIGTERM');
    if (code !== 0)
      this.problems.push([`${this.name} was stopped and ended with ${code}:`, ...this.#said].join('\n  '));
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.#isEnded) return 0;
    this.#isEnded = true;
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return this.#child.exitCode;
    const gone = once(this.#child, 'exit');
    this.#child.kill(signal);
    const [code] = await gone;
    return code;
  }
}

const config = fileURLToPath(new URL('./cluster.config.ts', import.meta.url));

export const newServer = (name: string, { cwd, store, port }: { cwd: string; store: string; port: number }) =>
  new ClusterProcess(
    name,
    () =>
      startPerdure(
        ['serve', '--no-worker', '--store', store, '--port', `${port}`, '--config', config, '--log', 'warn', '--json'],
        { cwd },
      ),
    (child) => once(createInterface({ input: child.stdout! }), 'line'),
  );

export const newWorker = (name: string, plan: WorkerPlan) =>
  new ClusterProcess(
    name,
    () => fork(new URL('./worker-process.ts', import.meta.url), [JSON.stringify(plan)], { silent: true, execArgv: [] }),
    (child) => once(child, 'message'),
  );
