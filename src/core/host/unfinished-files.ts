import { rmSync } from 'node:fs';

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Files that are not whole before `work` is through: when it fails, or a signal ends the process, they are gone. */
export const withUnfinished = async <T>(files: readonly string[], work: () => Promise<T>): Promise<T> => {
  const remove = (): void => {
    try {
      for (const file of files) rmSync(file, { force: true });
    } catch {
      // What cannot be removed stays; why it was to be is told.
    }
  };
  const end = (signal: NodeJS.Signals): void => {
    remove();
    process.kill(process.pid, signal);
  };
  for (const signal of endings) process.once(signal, end);
  try {
    return await work();
  } catch (error) {
    remove();
    throw error;
  } finally {
    for (const signal of endings) process.off(signal, end);
  }
};
