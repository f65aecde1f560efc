import { z } from 'zod';
import { SessionId } from './ids.ts';
import { ToolCallId } from './message.ts';

export const inputPolicies = ['queue', 'steer', 'interrupt', 'reject'] as const;
export const InputPolicy = z.enum(inputPolicies);
export type InputPolicy = z.infer<typeof InputPolicy>;

export const waitReasons = ['approval', 'question', 'budget', 'human', 'agent', 'model', 'quota'] as const;
export type WaitReason = (typeof waitReasons)[number];
/** What a run waits for, as text for people. */
export const awaited: Readonly<Record<WaitReason, string>> = {
  approval: 'an approval',
  question: 'an answer',
  budget: 'its budget',
  human: 'a person',
  agent: 'a worker that holds its agent',
  model: 'its model',
  quota: 'a quota',
};

/** The call that a child session works for, and the parent session that made the call. */
export const Caller = z.strictObject({ session: SessionId, callId: ToolCallId });
export type Caller = z.infer<typeof Caller>;

/**
 * Why a model returned no answer. `refused` is the provider's judgement of the request itself. `unusable` means that the
 * provider rejected the key, the account or the model's name. `unconfigured` means that no request could be sent.
 * `endless` means that the answer went on beyond its limits and was ended, and `excluded` that a quota does not include
 * the model.
 */
export const modelFailures = [
  'overflow',
  'rate-limit',
  'unavailable',
  'timeout',
  'broken-stream',
  'refused',
  'unusable',
  'unconfigured',
  'endless',
  'excluded',
] as const;
export type ModelFailureKind = (typeof modelFailures)[number];

const Count = z.int().nonnegative();

export const Usage = z
  .strictObject({
    inputTokens: Count,
    outputTokens: Count,
    /** The part of the input tokens that the provider read from its cache. */
    cachedTokens: Count.optional(),
    reasoningTokens: Count.optional(),
    /** Absent when the model's price is not known. */
    usd: z.number().nonnegative().optional(),
  })
  .meta({ id: 'Usage' });
export type Usage = z.infer<typeof Usage>;

/** What a session may use in total. An absent field means no limit. */
export const Limits = z
  .strictObject({
    turns: Count.optional().describe('How many inputs are answered.'),
    tokens: Count.optional().describe('Tokens of all requests and answers together.'),
    usd: z
      .number()
      .nonnegative()
      .optional()
      .describe('What the models cost, in USD. A run waits where the price of its model is not known.'),
    activeMs: Count.optional().describe('How long runs are at work. Waiting for people does not count.'),
  })
  .meta({ id: 'Limits' });
export type Limits = z.infer<typeof Limits>;

/** What a session has used. `unpriced` counts model calls whose price is not known. */
export interface Spent {
  readonly turns: number;
  readonly tokens: number;
  readonly usd: number;
  readonly unpriced: number;
  readonly activeMs: number;
}
