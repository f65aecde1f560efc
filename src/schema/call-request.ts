import { z } from 'zod';
import { Json, Text } from './json.ts';
import { Effects, RepeatPolicy, ToolCallId } from './message.ts';
import { ChangedPaths } from './reported-files.ts';

/** Proves that a loop still holds the session: the epoch of its claim, and a part of the hash of the claim. */
export const FenceToken = Text.regex(/^\d{1,15}\.[0-9a-f]{32}$/, {
  error: 'expected the token that beginCall returned',
});

/** A call that a loop is about to make. */
export const CallBeginning = z.strictObject({
  tool: Text.min(1).max(200),
  input: Json,
  /** The id that the model gave the call. By default a new one. */
  callId: ToolCallId.optional(),
  effects: Effects.optional(),
  /** For the effects `once`: `allow` lets the call repeat an earlier one outside the live lineage. */
  repeat: RepeatPolicy.optional(),
  /** Whether the tool reads the outside world, so that its result taints the session. By default its name tells. */
  untrusted: z.boolean().optional(),
  /** For the effects `once`: whether the call may begin although the session is tainted. */
  safeWhenTainted: z.boolean().optional(),
  /** The token of an earlier call of this loop. Without it, the call claims the session. */
  token: FenceToken.optional(),
});
export type CallBeginning = z.infer<typeof CallBeginning>;

export const BegunCall = z.strictObject({ callId: ToolCallId, token: FenceToken });
export type BegunCall = z.infer<typeof BegunCall>;

/** How a call ended: with an output, or with an error. */
export const CallEnding = z.union(
  [
    z.strictObject({ token: FenceToken, output: Json, files: ChangedPaths.optional() }),
    z.strictObject({
      token: FenceToken,
      error: z.strictObject({ name: Text.min(1).max(200).optional(), message: Text.max(20_000) }),
      outcome: z.enum(['threw', 'timeout', 'cancelled']).optional(),
    }),
  ],
  { error: 'expected { token, output } or { token, error: { message } }' },
);
export type CallEnding = z.infer<typeof CallEnding>;
