import { getCompileCacheDir } from 'node:module';
import { dirname } from 'node:path';
import { MessageChannel, type MessagePort, type TransferListItem, Worker } from 'node:worker_threads';
import { PerdureError } from '../../../schema/error.ts';
import { fromErrorData } from '../../../schema/error-data.ts';
import { inSlices } from '../../in-slices.ts';
import type { Call, FromThread, Operations, Reply, ValueOf } from './protocol.ts';

interface Waiting {
  resolve(value: unknown): void;
  reject(error: unknown): void;
}

interface Outgoing {
  readonly call: Call;
  readonly transfer: readonly TransferListItem[];
}

interface Thread {
  readonly worker: Worker;
  readonly port: MessagePort;
  /** Counts posted messages, so that the thread can wait for more without returning to its event loop. */
  readonly bell: Int32Array;
}

interface ThreadOptions {
  readonly entry: URL;
  readonly data: object;
  /** The error for calls in flight when the thread ends. */
  readonly lost: (cause: unknown) => Error;
  readonly onChanges?: (changes: Extract<FromThread, { changes: unknown }>['changes']) => void;
  readonly onLost?: () => void;
}

/** Gives the thread the compile cache of the process, because each thread compiles its own code. */
const environment = (): NodeJS.ProcessEnv => {
  const cache = getCompileCacheDir();
  return cache ? { ...process.env, NODE_COMPILE_CACHE: dirname(cache) } : process.env;
};

/**
 * The event loop's side of a thread. Calls of one tick travel in one message and are served in order. The thread keeps
 * the process alive only while calls are in flight. When the thread dies, calls in flight fail, and the next call
 * starts a new thread.
 */
export class ThreadClient<Ops extends Operations> {
  readonly #options: ThreadOptions;
  readonly #waiting = new Map<number, Waiting>();
  #thread: Thread | undefined;
  #starting: NodeJS.Timeout | undefined;
  #lastId = 0;
  #outbox: Outgoing[] = [];
  #drained: (() => void)[] = [];

  constructor(options: ThreadOptions) {
    this.#options = options;
  }

  start(): void {
    clearTimeout(this.#starting);
    this.#thread ??= this.#spawn();
  }

  /** Starts the thread after this time, unless a call starts it earlier. */
  startAfter(ms: number): void {
    this.#starting = setTimeout(() => this.start(), ms).unref();
  }

  call<Op extends keyof Ops & string>(
    op: Op,
    args: Parameters<Ops[Op]>,
    transfer: readonly TransferListItem[] = [],
  ): Promise<ValueOf<Ops[Op]>> {
    this.start();
    if (this.#outbox.length === 0) process.nextTick(() => this.#postAll());
    const id = ++this.#lastId;
    this.#outbox.push({ call: { id, op, args }, transfer });
    if (this.#waiting.size === 0) this.#thread?.port.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
    });
  }

  /** Waits for calls in flight, lets the thread clean up if it ever served a call, and ends it. */
  async close(tidyUp: () => Promise<unknown>): Promise<void> {
    if (this.#waiting.size > 0) await new Promise<void>((resolve) => this.#drained.push(resolve));
    // If cleaning up fails, the next process that opens the file does it.
    if (this.#thread && this.#lastId > 0) await tidyUp().catch(() => undefined);
    await this.stop();
  }

  /** Ends the thread; calls in flight fail. */
  async stop(): Promise<void> {
    clearTimeout(this.#starting);
    const thread = this.#thread;
    if (!thread) return;
    this.#lose(thread, new Error('the store was closed'));
    await thread.worker.terminate();
  }

  #spawn(): Thread {
    const { port1: port, port2 } = new MessageChannel();
    const { entry, data } = this.#options;
    const bell = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
    const worker = new Worker(entry, {
      workerData: { ...data, port: port2, bell },
      transferList: [port2],
      execArgv: [],
      env: environment(),
    });
    const thread = { worker, port, bell };
    port.on('message', (message: FromThread) => this.#receive(message));
    port.unref();
    worker.unref();
    worker.on('error', (error) => this.#lose(thread, error));
    worker.on('exit', (code) => this.#lose(thread, new Error(`the thread ended with code ${code}`)));
    return thread;
  }

  #postAll(): void {
    const outgoing = this.#outbox;
    this.#outbox = [];
    if (outgoing.length > 0 && this.#thread) this.#post(this.#thread, outgoing);
  }

  /** A value that cannot be cloned fails only its own call. */
  #post(thread: Thread, outgoing: readonly Outgoing[]): void {
    const { port, bell } = thread;
    const calls = outgoing.map(({ call }) => call);
    const transfer = outgoing.flatMap((each) => each.transfer);
    try {
      port.postMessage(calls, transfer);
    } catch (error) {
      if (calls.length > 1) for (const each of outgoing) this.#post(thread, [each]);
      else this.#refuse(calls[0]!, error);
      return;
    }
    Atomics.add(bell, 0, 1);
    Atomics.notify(bell, 0);
  }

  #refuse({ id, op }: Call, cause: unknown): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    waiting?.reject(
      new PerdureError('INVALID_INPUT', `${op}: an argument cannot be stored; pass plain data`, { cause }),
    );
    this.#settleIfIdle();
  }

  #receive(message: FromThread): void {
    if ('changes' in message) this.#options.onChanges?.(message.changes);
    else this.#answer(message.replies);
    this.#settleIfIdle();
  }

  /**
   * Removes all answered calls from those in flight first, because received answers stay valid even if the thread dies
   * before the last one is delivered.
   */
  #answer(replies: readonly Reply[]): void {
    const answered = replies.map((reply) => ({ reply, waiting: this.#waiting.get(reply.id) }));
    for (const { id } of replies) this.#waiting.delete(id);
    void inSlices(answered, ({ reply, waiting }) => {
      if ('error' in reply) waiting?.reject(fromErrorData(reply.error));
      else waiting?.resolve(reply.value);
    });
  }

  #settleIfIdle(): void {
    if (this.#waiting.size > 0) return;
    this.#thread?.port.unref();
    for (const resolve of this.#drained.splice(0)) resolve();
  }

  #lose(thread: Thread, cause: unknown): void {
    if (this.#thread !== thread) return;
    this.#thread = undefined;
    thread.port.close();
    this.#outbox = [];
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { reject } of waiting) reject(this.#options.lost(cause));
    this.#settleIfIdle();
    this.#options.onLost?.();
  }
}
