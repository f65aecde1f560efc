const firstMs = 100;
const mostMs = 10_000;
const mostAskedMs = 60_000;

/**
 * Exponential backoff with jitter, so that waiting clients do not retry in lockstep. `Retry-After` from the server
 * takes precedence.
 */
export const backoffMs = (attempt: number, askedMs?: number | undefined): number => {
  if (askedMs !== undefined) return Math.min(askedMs, mostAskedMs);
  return Math.min(mostMs, firstMs * 2 ** Math.min(attempt - 1, 16)) * (0.5 + Math.random() / 2);
};

/** Resolves early when the signal aborts. */
export const pause = (ms: number, signal?: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
    if (signal?.aborted) end();
  });
