import { z } from 'zod';
import { listOf } from './bounded.ts';
import { SessionId } from './ids.ts';
import { Text } from './json.ts';
import { Effects, toolOutcomes } from './message.ts';

/** The maximum number of calls in a list. A longer list keeps its newest calls and counts the others. */
export const maxHappenedCalls = 200;
/** An input is clipped to this many characters of JSON, followed by `…`. */
export const maxHappenedInput = 500;

/** The outcome of a call, or `running` if it had none when the list was made. */
export const callStatuses = [...toolOutcomes, 'running'] as const;

/** A call with effects that is not on the live lineage of the session that names it. */
export const HappenedCall = z
  .strictObject({
    session: SessionId.describe('The session that made the call.'),
    seq: z.int().positive().describe('The event that began the call.'),
    endedSeq: z.int().positive().optional(),
    callId: Text.max(200),
    tool: Text.max(200),
    effects: Effects.exclude(['none']),
    inputHash: z.string().regex(/^[0-9a-f]{64}$/),
    /** JSON, clipped. */
    input: Text.max(4 * maxHappenedInput),
    outcome: z.enum(callStatuses),
    at: z.int().nonnegative(),
    tainted: z.literal(true).optional().describe('Set if the call was made after data from outside had come in.'),
  })
  .meta({ id: 'HappenedCall' });
export type HappenedCall = z.infer<typeof HappenedCall>;

/** Names a call by its place and outcome. The place is absent for a reader who does not see that session. */
export const EarlierCall = HappenedCall.pick({ session: true, seq: true, callId: true, outcome: true, at: true })
  .partial({ session: true, seq: true, callId: true, at: true })
  .meta({ id: 'EarlierCall' });
export type EarlierCall = z.infer<typeof EarlierCall>;

/** Calls that happened, oldest first. `more` counts older calls that the list leaves out. */
export const HappenedCalls = z
  .strictObject({ calls: listOf(HappenedCall, { max: maxHappenedCalls }), more: z.int().nonnegative() })
  .meta({ id: 'HappenedCalls' });
export type HappenedCalls = z.infer<typeof HappenedCalls>;
