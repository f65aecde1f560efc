import { z } from 'zod';
import { bounded, listOf } from './bounded.ts';
import { SessionId } from './ids.ts';
import { Text } from './json.ts';
import { toolOutcomes } from './message.ts';

/** The maximum number of lost events, and of lost calls, that are listed one by one. */
export const maxListed = 100;

const Count = z.int().nonnegative();
const Seq = z.int().positive();

/** A lost event with what its row still says. A missing row has only its seq. */
const LostEvent = z.strictObject({
  seq: Seq,
  type: Text.max(100).optional(),
  turn: Count.optional(),
  at: Count.optional(),
});

/** A call in the lost part, from the store's index. It happened, although its events are lost. */
const LostCall = z.strictObject({
  callId: Text.max(200),
  tool: Text.max(200),
  status: z.enum(['running', ...toolOutcomes]),
  turn: Count,
  seq: Seq,
  at: Count,
});
export type LostCall = z.infer<typeof LostCall>;

/** The damage of a session: its first damaged event, and everything that is lost because of it. */
export const Damage = z.strictObject({
  session: SessionId,
  /** The first event that is not as it was written. */
  seq: Seq,
  reason: Text.max(1000),
  /** The last event before the damage, or 0. */
  good: Count,
  /** The last lost event. All events from `seq` to `to` are lost. */
  to: Seq,
  /** How many of the lost events have no row at all. */
  missing: Count,
  /** The number of lost events of each type. */
  types: bounded(z.record(Text.max(100), Count)),
  /** The first and last turn, and the first and last time, that the rows of lost events name. */
  turns: z.strictObject({ from: Count, to: Count }).optional(),
  times: z.strictObject({ from: Count, to: Count }).optional(),
  /** The first lost events. `moreEvents` counts those that are not listed. */
  events: listOf(LostEvent, { max: maxListed }),
  moreEvents: Count,
  /** Calls that began or ended in the lost part, newest first. `moreCalls` counts those that are not listed. */
  calls: listOf(LostCall, { max: maxListed }),
  moreCalls: Count,
});
export type Damage = z.infer<typeof Damage>;
