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
  /** Sessions worked on at once, 1 to 1000. */
  readonly concurrency?: number | undefined;
  /** Only this session, and those that work for it. */
  readonly session?: SessionId | undefined;
  /** Without a sign of life for so long, others take over: 100 ms to 24 h. */
  readonly leaseMs?: number | undefined;
  /** Looks for work at least this often, should a hint be lost, and three times in a lease; 24 h at most. */
  readonly pollMs?: number | undefined;
  /** How long `runUntilIdle` bears a store that fails. */
  readonly patienceMs?: number | undefined;
  /** `{ perWorkspace, perAgent }`: at most so many sessions at once by all workers together; give all of them the same. Agents by `name@version`. */
  readonly limits?: Claim['limits'];
}
