import { once } from 'node:events';
import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { KeyedMutex } from '../../../concurrency/mutex.ts';
import { PerdureError } from '../../../schema/error.ts';
import { fromErrorData, toErrorData } from '../../../schema/error-data.ts';
import type { Blobs } from '../../ports/blobs.ts';
import type { FromFilesThread, OptionsOf, ResultOf, Settled, TaskName, ToFilesThread } from './files-protocol.ts';

interface Waiting {
  readonly blobs: Blobs;
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

type TaskEnd = Extract<FromFilesThread, { task: number }>;

const entry = new URL(`./files-thread${extname(import.meta.url)}`, import.meta.url);

const settle = async (work: () => Promise<unknown>): Promise<Settled> => {
  try {
    return { value: await work() };
  } catch (error) {
    return { error: toErrorData(error) };
  }
};

/**
 * Takes snapshots, restores them and compares files in a separate thread. The thread starts when it is first needed,
 * and does not keep the process alive. Tasks on one worktree run one after another.
 */
export class Worktrees {
  readonly #waiting = new Map<number, Waiting>();
  readonly #worktrees = new KeyedMutex<string>();
  readonly #comparisons = new Set<Promise<unknown>>();
  #thread: Worker | undefined;
  #lastTask = 0;

  snapshot(options: OptionsOf<'snapshot'>, blobs: Blobs): Promise<ResultOf<'snapshot'>> {
    return this.#worktrees.run(options.cacheFile ?? options.folder, () => this.#run('snapshot', options, blobs));
  }

  restore(options: OptionsOf<'restore'>, blobs: Blobs): Promise<ResultOf<'restore'>> {
    return this.#worktrees.run(options.cacheFile ?? options.folder, () => this.#run('restore', options, blobs));
  }

  changes(options: OptionsOf<'changes'>, blobs: Blobs): Promise<ResultOf<'changes'>> {
    return this.#beside(this.#run('changes', options, blobs));
  }

  diff(options: OptionsOf<'diff'>, blobs: Blobs): Promise<ResultOf<'diff'>> {
    return this.#beside(this.#run('diff', options, blobs));
  }

  /** Waits for tasks in flight. Idempotent. */
  async stop(): Promise<void> {
    await Promise.allSettled([this.#worktrees.settle(), ...this.#comparisons]);
    const thread = this.#thread;
    if (!thread) return;
    this.#thread = undefined;
    thread.ref();
    const ended = once(thread, 'exit');
    thread.postMessage({ end: true } satisfies ToFilesThread);
    await ended;
  }

  #beside<T>(comparison: Promise<T>): Promise<T> {
    this.#comparisons.add(comparison);
    const forget = () => this.#comparisons.delete(comparison);
    comparison.then(forget, forget);
    return comparison;
  }

  #run<Name extends TaskName>(name: Name, options: OptionsOf<Name>, blobs: Blobs): Promise<ResultOf<Name>> {
    this.#thread ??= this.#start();
    const thread = this.#thread;
    const task = ++this.#lastTask;
    thread.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.set(task, { blobs, resolve: resolve as Waiting['resolve'], reject });
      thread.postMessage({ task, name, options } satisfies ToFilesThread);
    });
  }

  #start(): Worker {
    const thread = new Worker(entry, { execArgv: [] });
    thread.unref();
    thread.on('message', (message: FromFilesThread) => void this.#receive(thread, message));
    thread.on('error', (error) => this.#lose(thread, error));
    thread.on('exit', (code) => this.#lose(thread, new Error(`the thread ended with code ${code}`)));
    return thread;
  }

  async #receive(thread: Worker, message: FromFilesThread): Promise<void> {
    if ('task' in message) return this.#finish(thread, message);
    const waiting = this.#waiting.get(message.of);
    const settled = await settle(async () => {
      if (!waiting) throw new PerdureError('FILE_UNAVAILABLE', 'the file task has already ended');
      return waiting.blobs[message.method](message.argument as never);
    });
    thread.postMessage({ answer: message.ask, ...settled } satisfies ToFilesThread);
  }

  #finish(thread: Worker, end: TaskEnd): void {
    const waiting = this.#waiting.get(end.task);
    this.#waiting.delete(end.task);
    if (this.#waiting.size === 0) thread.unref();
    if ('error' in end) waiting?.reject(fromErrorData(end.error));
    else waiting?.resolve(JSON.parse(end.json));
  }

  /** Called when the thread has died. Fails the tasks in flight. The next task starts another thread. */
  #lose(thread: Worker, cause: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    const lost = new PerdureError('FILE_UNAVAILABLE', 'the thread that works on files has ended: try again', { cause });
    for (const { reject } of waiting) reject(lost);
  }
}
