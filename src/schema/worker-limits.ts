/**
 * The limits of a worker's options. Timers overflow at 2^31 ms, and the database columns for counts overflow at 2^31.
 */
export const workerLimits = {
  concurrency: 1000,
  sessions: 1_000_000,
  leastLeaseMs: 100,
  mostLeaseMs: 24 * 3_600_000,
} as const;
