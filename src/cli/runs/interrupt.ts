import type { Worker } from '../../core/worker/worker.ts';
import type { Context } from '../parse/command.ts';
import { count } from '../render/quantity.ts';

/** `stopped` resolves at the first signal. At the second signal, the worker stops immediately. */
export const awaitInterrupt = (context: Context, worker?: Worker): { stopped: Promise<void>; release: () => void } => {
  const stopped = Promise.withResolvers<void>();
  let signals = 0;
  const release = context.onInterrupt(() => {
    if (++signals === 1) stopped.resolve();
    else void worker?.stop();
  });
  return { stopped: stopped.promise, release };
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
