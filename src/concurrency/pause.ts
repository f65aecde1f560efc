export interface PauseOptions {
  readonly signal?: AbortSignal | undefined;
  /** Whether the process stays alive for it; it does unless told otherwise. */
  readonly keepsAlive?: boolean | undefined;
}

/** Waits. Ends at once, and does not fail, when the signal is aborted. */
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
