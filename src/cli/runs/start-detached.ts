import { spawn } from 'node:child_process';

/** Starts another `perdure` that outlives this process and its terminal. */
export const startDetached = (
  args: readonly string[],
  options: { readonly folder: string; readonly env: Readonly<Record<string, string | undefined>> },
): void => {
  spawn(process.execPath, [process.argv[1]!, ...args], {
    cwd: options.folder,
    env: options.env,
    detached: true,
    stdio: 'ignore',
  }).unref();
};
