import { backoffMs } from '../concurrency/backoff.ts';

const backoff = { firstMs: 100, maxMs: 10_000, fixed: 0.5 };
const mostAskedMs = 60_000;

/** Time to wait before the next attempt. A `Retry-After` of the server takes precedence. */
export const retryDelayMs = (failures: number, askedMs?: number | undefined): number =>
  askedMs === undefined ? backoffMs(failures, backoff, Math.random) : Math.min(askedMs, mostAskedMs);
