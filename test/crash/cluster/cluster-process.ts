import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { startPerdure } from '../../support/cli/perdure-command.ts';

const keptLines = 20;

/** A process that the test kills and restarts. If it ends by itself, that is reported as a problem. */
export class ClusterProcess {
  readonly name: string;
  readonly problems: string[] = [];
  readonly #launch: () => ChildProcess;
  readonly #isReady: (child: ChildProcess) => Promise<unknown>;
  readonly #said: string[] = [];
  #child!: ChildProcess;
  /** Whether the test ended the process. */
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
      this.problems.push([`${this.name} exited unexpectedly (${code ?? signal}):`, ...this.#said].join('\n  '));
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

  /** Stops the process with SIGTERM, as an operator would. */
  async stop(): Promise<void> {
    const code = await this.#end('SIGTERM');
    if (code !== 0)
      this.problems.push([`${this.name} exited after SIGTERM with code ${code}:`, ...this.#said].join('\n  '));
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

const configNamed = (name: string): string => fileURLToPath(new URL(`./${name}.config.ts`, import.meta.url));

const isSaid =
  (stream: 'stdout' | 'stderr', what = '') =>
  (child: ChildProcess): Promise<void> =>
    new Promise((resolve) => {
      createInterface({ input: child[stream]! }).on('line', (line) => line.includes(what) && resolve());
    });

export interface ServerPlan {
  /** The folder where all processes record what they did. */
  readonly cwd: string;
  readonly store: string;
  readonly port: number;
}

export const newServer = (name: string, { cwd, store, port }: ServerPlan) => {
  const options = [
    '--store',
    store,
    '--port',
    `${port}`,
    '--config',
    configNamed('cluster'),
    '--log',
    'warn',
    '--json',
  ];
  return new ClusterProcess(name, () => startPerdure(['serve', '--no-worker', ...options], { cwd }), isSaid('stdout'));
};

export interface WorkerPlan {
  readonly cwd: string;
  readonly store: string;
  /** The data folder of the worker's machine. */
  readonly data: string;
  readonly leaseMs: number;
}

export const newWorker = (name: string, { cwd, store, data, leaseMs }: WorkerPlan) => {
  const options = ['--concurrency', '12', '--lease', `${leaseMs / 1000}s`, '--config', configNamed('worker')];
  const env = { CLUSTER_STORE: store, PERDURE_DATA: data };
  return new ClusterProcess(
    name,
    () => startPerdure(['worker', ...options], { cwd, env }),
    isSaid('stderr', 'at work for clerk@1'),
  );
};
