export interface PauseOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether it keeps the process alive, by default true. */
  readonly keepsAlive?: boolean | undefined;
}

/** Waits. Resolves at once, and does not reject, when the signal aborts. */
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
