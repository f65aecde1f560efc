import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4StreamPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import {
  type Finish,
  type Model,
  type ModelAnswer,
  ModelFailure,
  type ModelRequest,
  type ModelSettings,
  modelName,
  type Price,
} from '../core/ports/model.ts';
import type { AssistantPart } from '../schema/message.ts';
import { callIdsFor } from './call-id.ts';
import { type Collector, type CollectorBound, collectAnswer } from './collect-answer.ts';
import { toUsage } from './price.ts';
import { guardAgainstStall, type StallGuard } from './stall-guard.ts';
import { type FailureContext, toFailure } from './to-failure.ts';
import { toPrompt } from './to-prompt.ts';

export const defaultContextTokens = 128_000;
export const defaultStallMs = 120_000;

export interface LanguageModelOptions {
  readonly name?: string | undefined;
  readonly contextTokens?: number | undefined;
  readonly price?: Price | undefined;
  /** How long the provider may send nothing before the request is abandoned. */
  readonly stallMs?: number | undefined;
  /** Names where the API key came from, for error messages. */
  readonly keyAdvice?: string | undefined;
  /** The environment variable that holds the base URL, for error messages. */
  readonly urlName?: string | undefined;
  /** Values that are removed from a provider's error messages. */
  readonly secrets?: readonly string[] | undefined;
  /** Default options by provider. An agent's settings override them. */
  readonly provider?: ModelSettings['provider'];
}

const mergeOptions = (...options: ModelSettings['provider'][]): SharedV4ProviderOptions => {
  const all: Record<string, object> = {};
  for (const byProvider of options) {
    for (const [name, values] of Object.entries(byProvider ?? {})) all[name] = { ...all[name], ...values };
  }
  return all as SharedV4ProviderOptions;
};

const toCall = (request: ModelRequest, options: LanguageModelOptions): LanguageModelV4CallOptions => {
  const { maxOutputTokens, temperature, provider } = request.settings;
  const tools = request.tools.map(({ name, description, input }) => ({
    type: 'function' as const,
    name,
    description,
    inputSchema: input as object,
  }));
  return {
    prompt: toPrompt(request.instructions, request.messages),
    providerOptions: mergeOptions(options.provider, provider),
    ...(tools.length > 0 && { tools, toolChoice: { type: 'auto' } }),
    ...(request.output && { responseFormat: { type: 'json', schema: request.output as object, name: 'answer' } }),
    ...(maxOutputTokens !== undefined && { maxOutputTokens }),
    ...(temperature !== undefined && { temperature }),
  };
};

/** Stream parts per requested token. Common servers send a part for each token, or for several. */
const partsPerToken = 4;
const slackParts = 10_000;

const boundOf = (model: string, { maxBytes = Number.POSITIVE_INFINITY, settings }: ModelRequest): CollectorBound => {
  const { maxOutputTokens = Number.POSITIVE_INFINITY } = settings;
  return {
    maxBytes,
    maxParts: maxOutputTokens * partsPerToken + slackParts,
    failure: () => new ModelFailure('endless', `the answer of ${model} went on beyond its limits and was ended`),
  };
};

const readAll = async (stream: ReadableStream<LanguageModelV4StreamPart>, guard: StallGuard, to: Collector) => {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await guard.race(reader.read());
      if (done) return;
      guard.signal.throwIfAborted();
      guard.touch();
      if (value.type === 'error') throw value.error;
      to.add(value);
    }
  } catch (error) {
    // An answer that was complete before the connection broke is still valid.
    if (to.finish === undefined) throw error;
  } finally {
    reader.cancel().catch(() => {});
  }
};

/** Corrects the finish reason, because some servers report `stop` together with tool calls. */
const finishOf = (said: Finish, parts: readonly AssistantPart[]): Finish =>
  (said === 'stop' || said === 'other') && parts.some(({ type }) => type === 'tool-call') ? 'tool-calls' : said;

const answerOf = (model: string, collected: Collector, price: Price | undefined): ModelAnswer => {
  const said = collected.finish?.finishReason.unified;
  const usage = collected.finish && toUsage(collected.finish.usage, price);
  if (!usage || said === undefined || said === 'interrupted' || said === 'error') {
    throw new ModelFailure('broken-stream', `${model} broke off its answer before the end`, { usage });
  }
  const parts = collected.parts();
  // A model may choose to answer nothing. The provider then still reports output tokens.
  if (parts.length === 0 && usage.outputTokens === 0) {
    throw new ModelFailure('broken-stream', `${model} gave an empty answer`, { usage });
  }
  return { parts, finish: finishOf(said, parts), usage };
};

/** Decides whether the request stalled or the provider failed. The caller has already ruled out its own abort. */
const failureOf = (error: unknown, guard: StallGuard, context: FailureContext): unknown => {
  const { cause } = (error ?? {}) as { readonly cause?: unknown };
  for (const each of [error, cause]) if (each instanceof ModelFailure) return each;
  if (guard.stalled) return new ModelFailure('timeout', `${context.model} sent nothing for too long`, { cause: error });
  return toFailure(error, context);
};

/**
 * Adapts a model of the AI SDK to our port. It never retries, because the run decides about retries. If the caller
 * aborts, the request rejects with the abort reason.
 */
export const fromLanguageModel = (languageModel: LanguageModelV4, options: LanguageModelOptions = {}): Model => {
  const {
    contextTokens = defaultContextTokens,
    stallMs = defaultStallMs,
    price,
    keyAdvice,
    urlName,
    secrets,
  } = options;
  const name = options.name ?? String(modelName(languageModel));
  return {
    name,
    contextTokens,
    price: price ?? null,
    async answer(request, onDelta) {
      request.signal.throwIfAborted();
      const guard = guardAgainstStall(stallMs, request.signal);
      const collected = collectAnswer(callIdsFor(request.messages), onDelta, boundOf(name, request));
      let streaming = false;
      try {
        const call = { ...toCall(request, options), abortSignal: guard.signal };
        const { stream } = await guard.race(languageModel.doStream(call));
        streaming = true;
        guard.touch();
        await readAll(stream, guard, collected);
        return answerOf(name, collected, price);
      } catch (error) {
        request.signal.throwIfAborted();
        throw failureOf(error, guard, { model: name, keyAdvice, urlName, secrets, streaming });
      } finally {
        guard.end();
      }
    },
  };
};
