import { z } from 'zod';
import { SessionId } from '../ids.ts';

export const WorkerView = z
  .strictObject({
    worker: z.string(),
    machine: z.string().optional(),
    process: z.int().optional(),
    isOwn: z.boolean(),
    agents: z.array(z.string()),
    concurrency: z.int(),
    busy: z.int(),
    hasRoom: z.boolean(),
    holds: z.array(SessionId),
    status: z.enum(['working', 'draining', 'lost']),
    startedAt: z.number(),
    seenAt: z.number(),
  })
  .meta({ id: 'Worker' });
export const WorkersView = z.strictObject({ workers: z.array(WorkerView) });
