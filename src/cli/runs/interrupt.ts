import type { Worker } from '../../core/worker/worker.ts';
import type { Context } from '../parse/command.ts';

import { count } from '../render/quantity.ts';

/** `stopped` resolves at the first signal. At the second signal, the worker stops immediately. */
export const awaitInterrupt = (
  context: Context,
  worker?: Pick<Worker, 'stop'>,
): { stopped: Promise<void>; release: () => void } => {
  const stopped = Promise.withResolvers<void>();
  let signals = 0;
  const release = context.onInterrupt(() => {
    if (++signals === 1) stopped.resolve();
    else void worker?.stop();
  });
  return { stopped: stopped.promise, release };
};

/**
 * The same for a worker process of `serve`. Only the server stops it immediately, because a terminal or a service
 * manager sends signals to the server and to its workers.
 */
export const awaitParent = (
  context: Context,
  parent: NonNullable<Context['parent']>,
  worker: Pick<Worker, 'stop'>,
): { stopped: Promise<void>; release: () => void } => {
  const stopped = Promise.withResolvers<void>();
  const release = context.onInterrupt(() => stopped.resolve());
  const leave = parent.onMessage(({ type }) => {
    if (type === 'note') return;
    stopped.resolve();
    if (type === 'stop') void worker.stop();
  });
  return {
    stopped: stopped.promise,
    release: () => {
      release();
      leave();
    },
  };
};

/** Drains the worker: current steps finish, and other workers continue the runs. */
export const drain = async (context: Context, worker: Worker): Promise<void> => {
  const { holds } = worker.state();
  if (holds > 0) {
    await context.note(
      `finishing the current steps of ${count(holds, 'session')}, for 25 s at most; Ctrl-C stops at once`,
    );
  }
  await worker.drain();
};
