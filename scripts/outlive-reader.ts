/**
 * Ignores that the reader of our output stops early, as `head` does, so that the program runs to its end and cleans
 * up.
 */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
