import { rmSync } from 'node:fs';

const endings = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Runs `work` that writes these files. If it fails or a signal ends the process, the files are removed. */
export const withUnfinished = async <T>(files: readonly string[], work: () => Promise<T>): Promise<T> => {
  const remove = (): void => {
    try {
      for (const file of files) rmSync(file, { force: true });
    } catch {
      // A file that cannot be removed is left. The original failure is reported.
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
