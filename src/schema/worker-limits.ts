/** What a worker may be told. Timers go wrong beyond 2^31 ms, columns of counts beyond 2^31. */
export const workerLimits = {
  concurrency: 1000,
  sessions: 1_000_000,
  leastLeaseMs: 100,
  mostLeaseMs: 24 * 3_600_000,
} as const;
