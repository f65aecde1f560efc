import { truncate } from './display-width.ts';
import type { Terminal } from './terminal.ts';

const everyMs = 200;

/**
 * Shows a progress line on a terminal for work that takes longer than a second. Plain characters erase it at the end,
 * because every terminal supports them.
 */
const startProgress = (err: Terminal, say: () => string): { readonly stop: () => Promise<void> } => {
  const { patienceMs } = err;
  if (patienceMs === undefined) return { stop: async () => {} };
  const started = Date.now();
  let shown = '';
  const overwrite = (text: string): Promise<void> => {
    const line = truncate(text, err.columns - 1);
    const rest = ' '.repeat(Math.max(0, shown.length - line.length));
    shown = line;
    return err.write(`\r${err.style('dim', line)}${rest}`).catch(() => {});
  };
  const timer = setInterval(() => {
    const ms = Date.now() - started;
    if (ms >= patienceMs) void overwrite(`${say()}, ${Math.floor(ms / 1000)} s`);
  }, everyMs).unref(); // must not keep the process alive
  return {
    stop: async () => {
      clearInterval(timer);
      if (!shown) return;
      await overwrite('');
      await err.write('\r').catch(() => {});
    },
  };
};

/** Runs the work, and shows progress when it takes long. */
export const withProgress = async <T>(err: Terminal, say: () => string, work: () => Promise<T>): Promise<T> => {
  const progress = startProgress(err, say);
  try {
    return await work();
  } finally {
    await progress.stop();
  }
};

const pipePatienceMs = 10_000;

/** Runs the work. If it takes long and no progress is shown, writes one notice. */
export const withNotice = async <T>(err: Terminal, what: string, work: () => Promise<T>): Promise<T> => {
  const say = (): void => void err.write(`${what} takes longer than ${pipePatienceMs / 1000} s\n`).catch(() => {});
  const timer = err.isTerminal ? undefined : setTimeout(say, pipePatienceMs).unref(); // must not keep the process alive
  try {
    return await work();
  } finally {
    clearTimeout(timer);
  }
};

/** Shows what a command is doing until it writes something, asks a person or waits for a signal. */
export const silenceBreaker = (err: Terminal, say: () => string) => {
  const progress = startProgress(err, say);
  let isOver = false;
  const end = async (): Promise<void> => {
    if (isOver) return;
    isOver = true;
    await progress.stop();
  };
  const until = (terminal: Terminal): Terminal => ({
    isTerminal: terminal.isTerminal,
    patienceMs: terminal.patienceMs,
    get columns() {
      return terminal.columns;
    },
    style: terminal.style,
    write: async (output) => {
      await end();
      await terminal.write(output);
    },
  });
  return { until, end };
};
