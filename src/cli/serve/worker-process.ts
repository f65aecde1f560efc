import { type ChildProcess, spawn } from 'node:child_process';
import { Worker } from 'node:worker_threads';

interface NoteMessage {
  readonly type: 'note';
  readonly workspace: string;
  readonly session: string;
  readonly text: string;
}

/** How many events of each type, and ends of runs by status, a worker has written. */
export interface AppendTally {
  readonly events: Readonly<Record<string, number>>;
  readonly runs: Readonly<Record<string, number>>;
  /** The untrusted commits to watched paths. */
  readonly untrusted?: readonly { readonly pattern: string; readonly provenance: string }[] | undefined;
}

/** Messages of `serve` to its worker processes. `drain` finishes current steps; `stop` ends them at once. */
export type ToWorker = { readonly type: 'drain' | 'stop' } | NoteMessage;
export type FromWorker = { readonly type: 'ready' } | ({ readonly type: 'appended' } & AppendTally) | NoteMessage;

/** One end of the channel between `serve` and a worker process. */
export interface Channel<Sent, Received> {
  /** Never fails. A note is dropped while the other side does not keep up. */
  send(message: Sent): void;
  /** The returned function unregisters the listener. */
  onMessage(listener: (message: Received) => void): () => void;
}

export interface WorkerProcess extends Channel<ToWorker, FromWorker> {
  readonly pid: number | undefined;
  /** How the process ended, in words. */
  readonly ended: Promise<string>;
  kill(signal: 'SIGTERM' | 'SIGKILL'): void;
}

export type ParentProcess = Channel<FromWorker, ToWorker>;

/** Set for a process that `serve` supervises. */
const supervised = 'PERDURE_SUPERVISED';
/** A pipe to the parent, which the kernel closes when the parent dies. */
const lifelineFd = 4;
/** Maximum number of messages in flight beyond which notes are dropped. */
const maxInFlight = 1000;

const channelOf = <Sent extends { readonly type: string }, Received>(
  peer: Pick<NodeJS.Process, 'on' | 'off'> & Pick<ChildProcess, 'send'>,
): Channel<Sent, Received> => {
  let inFlight = 0;
  return {
    send: (message) => {
      if (message.type === 'note' && inFlight >= maxInFlight) return;
      inFlight++;
      // Without a callback, a closed channel would raise an error event.
      peer.send(message, () => {
        inFlight--;
      });
    },
    onMessage: (listener) => {
      peer.on('message', listener as (message: unknown) => void);
      return () => void peer.off('message', listener as (message: unknown) => void);
    },
  };
};

/** Starts another `perdure` process that ends with this one. */
export const startWorkerProcess = (
  args: readonly string[],
  { folder, env }: { readonly folder: string; readonly env: Readonly<Record<string, string | undefined>> },
): WorkerProcess => {
  const child = spawn(process.execPath, [process.argv[1]!, ...args], {
    cwd: folder,
    env: { ...env, [supervised]: '1' },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc', 'pipe'],
  });
  const ended = Promise.withResolvers<string>();
  child.on('error', (error) => ended.resolve(error.message));
  child.on('exit', (code, signal) => ended.resolve(signal ? `signal ${signal}` : `exit code ${code}`));
  child.stdio[lifelineFd]?.on('error', () => {}); // the process died, which `exit` reports
  return {
    ...channelOf<ToWorker, FromWorker>(child as never),
    pid: child.pid,
    ended: ended.promise,
    kill: (signal) => void child.kill(signal),
  };
};

/** Runs in a thread, so that it also ends a process whose event loop a tool blocks. */
const watchLifeline = `
const socket = new (require('node:net').Socket)({ fd: ${lifelineFd}, readable: true, writable: false });
socket.on('error', () => {}).on('close', () => process.kill(process.pid, 'SIGKILL')).resume();
`;

/** The `serve` process that supervises this one, if there is one. This process then dies with it. */
export const parentProcess = (): ParentProcess | undefined => {
  if (!process.env[supervised]) return undefined;
  delete process.env[supervised];
  if (!process.send) return undefined;
  new Worker(watchLifeline, { eval: true, execArgv: [], env: {} }).unref();
  return channelOf<FromWorker, ToWorker>(process as never);
};
