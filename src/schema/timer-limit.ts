/** A timer that is set for longer rings at once. */
export const longestTimerMs = 2 ** 31 - 1;

/** For a timer; who waits for longer than that has long been started anew. */
export const timerMs = (ms: number): number => Math.min(ms, longestTimerMs);
