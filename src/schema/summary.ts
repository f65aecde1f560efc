import { z } from 'zod';
import { Description } from './description.ts';
import { SessionId } from './ids.ts';
import { Text } from './json.ts';
import { Holder, Status } from './lifecycle.ts';
import { Caller, waitReasons } from './run.ts';

/** What a listing shows of a session, kept beside its head and written with every append. */
export const SessionSummary = z.strictObject({
  id: SessionId,
  ...Description.shape,
  agent: z.strictObject({ name: Text, version: z.int() }).optional(),
  status: Status,
  holder: Holder,
  parent: SessionId.optional(),
  forkedAt: z.int().optional(),
  calledBy: Caller.optional(),
  seq: z.int(),
  /** The turn that the live head belongs to. */
  turn: z.int(),
  /** The highest turn number ever given; never reused. */
  lastTurn: z.int(),
  messages: z.int(),
  /** Set once a rewind has left something behind. */
  rewound: z.literal(true).optional(),
  /** What its run waits for. */
  waiting: z.enum(waitReasons).optional(),
  createdAt: z.int(),
  updatedAt: z.int(),
});
export type SessionSummary = z.infer<typeof SessionSummary>;
