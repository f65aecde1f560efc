/** Runs foreign code. A call of `process.exit` throws instead of ending the process without an explanation. */
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
