import type { LanguageModelV4Usage } from '@ai-sdk/provider';
import type { Price } from '../core/ports/model.ts';
import type { Usage } from '../schema/run.ts';

const count = (tokens: number | undefined): number =>
  tokens !== undefined && Number.isFinite(tokens) && tokens > 0 ? Math.round(tokens) : 0;

const usdOf = ({ inputTokens, outputTokens }: LanguageModelV4Usage, price: Price): number => {
  const read = count(inputTokens.cacheRead);
  const written = count(inputTokens.cacheWrite);
  const plain = Math.max(0, count(inputTokens.total) - read - written);
  const millionths =
    plain * price.input +
    read * (price.cachedInput ?? price.input) +
    written * (price.cacheWrite ?? price.input) +
    count(outputTokens.total) * price.output;
  return millionths / 1e6;
};

/** Whether the provider reported token counts. Without them, the cost is unknown. */
const isMeasured = ({ inputTokens, outputTokens }: LanguageModelV4Usage): boolean =>
  count(inputTokens.total) + count(outputTokens.total) > 0;

export const toUsage = (usage: LanguageModelV4Usage, price: Price | undefined): Usage => ({
  inputTokens: count(usage.inputTokens.total),
  outputTokens: count(usage.outputTokens.total),
  ...(usage.inputTokens.cacheRead !== undefined && { cachedTokens: count(usage.inputTokens.cacheRead) }),
  ...(usage.outputTokens.reasoning !== undefined && { reasoningTokens: count(usage.outputTokens.reasoning) }),
  ...(price && isMeasured(usage) && { usd: usdOf(usage, price) }),
});
