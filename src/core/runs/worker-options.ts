import { z } from 'zod';
import { SessionId } from '../../schema/ids.ts';
import { workerLimits } from '../../schema/worker-limits.ts';
import type { Claim } from '../ports/queue.ts';

const whole = (least: number, most: number, usual: number) => {
  const error = `expected a whole number from ${least} to ${most}, such as ${usual}`;
  return z.int({ error }).min(least, { error }).max(most, { error });
};
const usual = { concurrency: 4, leaseMs: 30_000, pollMs: 5000 };
const { leastLeaseMs, mostLeaseMs } = workerLimits;
const Limit = whole(1, workerLimits.sessions, 8);

export const Options = z.strictObject({
  concurrency: whole(1, workerLimits.concurrency, usual.concurrency).default(usual.concurrency),
  session: SessionId.optional(),
  leaseMs: whole(leastLeaseMs, mostLeaseMs, usual.leaseMs).default(usual.leaseMs),
  pollMs: whole(1, mostLeaseMs, usual.pollMs).default(usual.pollMs),
  patienceMs: z.int().positive().default(60_000),
  limits: z
    .strictObject({ perWorkspace: Limit.optional(), perAgent: z.record(z.string(), Limit).optional() })
    .optional(),
});

export interface WorkerOptions {
  /** The number of sessions to execute at the same time, 1 to 1000. */
  readonly concurrency?: number | undefined;
  /** Executes only this session and its subagents. */
  readonly session?: SessionId | undefined;
  /** The lease, 100 ms to 24 h. If this worker sends no heartbeat for this long, other workers claim its sessions. */
  readonly leaseMs?: number | undefined;
  /** The longest time between two polls for work, in case a hint was lost. At most a third of the lease. */
  readonly pollMs?: number | undefined;
  /** How long `runUntilIdle` tolerates a failing store. */
  readonly patienceMs?: number | undefined;
  /**
   * How many sessions all workers together may execute at the same time: `{ perWorkspace: 8, perAgent: { 'coder@1': 20
   * } }`. All workers must have the same limits.
   */
  readonly limits?: Claim['limits'];
}
