/** The reader of our output may stop early, as `head` does. The program still runs to its end and cleans up. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
