import { z } from 'zod';
import { Actor, RunId, SessionId } from './ids.ts';
import { Usage, waitReasons } from './run.ts';
import { runStatuses } from './statuses.ts';

/** What is known about one run, folded from its events. */
export const RunRecord = z
  .strictObject({
    run: RunId,
    session: SessionId,
    /** The seq of the event that admitted the run's input. */
    seq: z.int(),
    /** The turn of the run. Absent until the run begins. */
    turn: z.int().optional(),
    status: z.enum(runStatuses),
    /** The actor whose input the run answers, and the beginning of that input. */
    by: Actor,
    input: z.string().optional(),
    /** How many workers have begun the run so far. */
    attempts: z.int(),
    admittedAt: z.int(),
    startedAt: z.int().optional(),
    endedAt: z.int().optional(),
    /** From the start to the end. Absent until the run has ended. */
    durationMs: z.number().optional(),
    /** How long workers were at work, up to the last wait, pause or end. */
    activeMs: z.number(),
    /** The worker that last worked on the run, its machine, and the agent's version that it used. */
    worker: z.string().optional(),
    machine: z.string().optional(),
    agent: z.strictObject({ name: z.string(), version: z.int() }).optional(),
    /** The model of the last request, and the tools that this request offered, at most 200 of them. */
    model: z.string().optional(),
    tools: z.array(z.string()).optional(),
    /** How many further tools the last request offered. */
    toolsLeftOut: z.int().optional(),
    modelCalls: z.int(),
    usage: Usage,
    /** Why the run failed. */
    error: z.strictObject({ code: z.string(), message: z.string() }).optional(),
    /** What the run waits for, why, until when it waits by itself, and the child session that it waits for. */
    waitingFor: z.enum(waitReasons).optional(),
    reason: z.string().optional(),
    until: z.int().optional(),
    waitsIn: SessionId.optional(),
    /** Set if a rewind left the run behind. */
    rewound: z.literal(true).optional(),
  })
  .meta({ id: 'RunRecord' });
export type RunRecord = z.infer<typeof RunRecord>;
