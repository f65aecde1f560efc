export interface PauseOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the timer keeps the process alive, by default true. */
  readonly keepsAlive?: boolean | undefined;
}

/** Waits for `ms` milliseconds. When the signal aborts, the promise resolves immediately and does not reject. */
export const pause = (ms: number, { signal, keepsAlive = true }: PauseOptions = {}): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    // In a browser a timer is a number.
    if (!keepsAlive) timer.unref?.();
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
