/** The longest delay that `setTimeout` supports. With a longer delay the timer fires immediately. */
export const longestTimerMs = 2 ** 31 - 1;

/** Caps a delay at the longest supported one, which is 24 days. */
export const timerMs = (ms: number): number => Math.min(ms, longestTimerMs);
