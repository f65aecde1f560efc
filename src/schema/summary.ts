import { z } from 'zod';
import { Description } from './description.ts';
import { ShownHandoff } from './handoff.ts';
import { RunId, SessionId } from './ids.ts';
import { Text } from './json.ts';
import { Holder, Status } from './lifecycle.ts';
import { Caller, waitReasons } from './run.ts';
import { Ownership } from './sharing.ts';
import { runEnds } from './statuses.ts';

/** What a listing shows of a session. The store keeps it beside the head and writes it with every append. */
export const SessionSummary = z.strictObject({
  id: SessionId,
  ...Description.shape,
  /** The member that the session belongs to, and who else sees it. No visibility means `workspace`. */
  ...Ownership.shape,
  agent: z.strictObject({ name: Text, version: z.int() }).optional(),
  status: Status,
  holder: Holder,
  handoff: ShownHandoff.optional(),
  parent: SessionId.optional(),
  forkedAt: z.int().optional(),
  calledBy: Caller.optional(),
  seq: z.int(),
  /** The turn of the newest event on the live lineage. */
  turn: z.int(),
  /** The highest turn number ever used. Turn numbers are never reused. */
  lastTurn: z.int(),
  messages: z.int(),
  /** Set once the session has been rewound. */
  rewound: z.literal(true).optional(),
  /** The beginning of the first message of a person. Only an untitled session has it. */
  firstWords: Text.optional(),
  /** Set once the session is quarantined: its first damaged event, and the event that quarantined it. */
  damaged: z.strictObject({ seq: z.int(), at: z.int() }).optional(),
  /** Set if the session continues a damaged one: the events of that session that are lost. */
  lost: z.strictObject({ session: SessionId, from: z.int(), to: z.int() }).optional(),
  /** The progress of the current run, or how the last one ended. Absent if the session had no run. */
  run: z.enum(['queued', 'running', ...runEnds]).optional(),
  /** What the session's run waits for. Absent if no run waits. */
  waiting: z.enum(waitReasons).optional(),
  /** The call, question or reason that the run waits for, clipped to 200 characters. */
  waitingOn: Text.optional(),
  /** The failure of the last run. Absent if it did not fail, or if there is a newer input. */
  failure: z.strictObject({ run: RunId, code: Text, message: Text }).optional(),
  /** How many steps of the plan are done, and how many there are, without dropped ones. */
  plan: z.strictObject({ done: z.int(), total: z.int() }).optional(),
  /** The first tools whose results taint the session. Absent if it is not tainted. */
  tainted: z.array(Text).optional(),
  /** The time at which the waiting run continues by itself. */
  waitsUntil: z.int().optional(),
  createdAt: z.int(),
  updatedAt: z.int(),
});
export type SessionSummary = z.infer<typeof SessionSummary>;
