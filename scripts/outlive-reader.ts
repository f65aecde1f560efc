/** Who reads what is printed may have enough, as `head` has: all goes on to its end and removes what it made. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
});
