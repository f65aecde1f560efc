import type { Terminal } from './terminal.ts';

const quietMs = 1000;
const everyMs = 200;

/** Runs the work; when it takes longer than a second, says on a terminal how far it is, and leaves no trace at the end. */
export const withProgress = async <T>(err: Terminal, say: () => string, work: () => Promise<T>): Promise<T> => {
  if (!err.isTerminal) return work();
  const started = Date.now();
  let shown = false;
  const timer = setInterval(() => {
    const ms = Date.now() - started;
    if (ms < quietMs) return;
    shown = true;
    void err.write(`\r\x1b[K${err.style('dim', `${say()}, ${Math.floor(ms / 1000)} s`)}`).catch(() => {});
  }, everyMs);
  try {
    return await work();
  } finally {
    clearInterval(timer);
    if (shown) await err.write('\r\x1b[K').catch(() => {});
  }
};
