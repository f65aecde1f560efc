/** Runs what others wrote: where it would end the process, and nobody would be told why, it fails. */
export const withoutExit = async <T>(run: () => Promise<T>): Promise<T> => {
  const { exit } = process;
  process.exit = (code) => {
    throw new Error(`it ends the process with process.exit(${code ?? ''})`);
  };
  try {
    return await run();
  } finally {
    process.exit = exit;
  }
};
