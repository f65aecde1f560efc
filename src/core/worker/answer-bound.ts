import { ModelFailure } from '../ports/model.ts';

/** Generous, because no common tokenizer has an average near it. Only an answer without end reaches it. */
const bytesPerToken = 32;
/** Slack for short limits, where a few long tokens would exceed the average. */
const slackBytes = 64 * 1024;

export interface AnswerLimits {
  readonly outputTokens: number;
  readonly maxBytes: number;
}

export interface AnswerBound {
  /** Aborts with the caller's signal, or when the answer exceeds its limits. */
  readonly signal: AbortSignal;
  /** Counts a piece. Throws and aborts the request when the answer exceeds its limits. */
  count(text: string): void;
}

/**
 * Bounds an answer by the tokens that were requested, as estimated from its bytes, and by bytes. Some servers ignore
 * the requested maximum, and a model in a loop then streams until the memory is used up.
 */
export const boundAnswer = (
  model: string,
  { outputTokens, maxBytes }: AnswerLimits,
  caller: AbortSignal,
): AnswerBound => {
  const endless = new AbortController();
  const allowed = Math.min(maxBytes, outputTokens * bytesPerToken + slackBytes);
  let bytes = 0;
  return {
    signal: AbortSignal.any([caller, endless.signal]),
    count: (text) => {
      bytes += Buffer.byteLength(text);
      if (bytes <= allowed) return;
      const limit =
        allowed === maxBytes ? `${maxBytes} bytes (policies.maxAnswerBytes)` : `the requested ${outputTokens} tokens`;
      if (!endless.signal.aborted)
        endless.abort(new ModelFailure('endless', `the answer of ${model} went on beyond ${limit} and was ended`));
      throw endless.signal.reason;
    },
  };
};
