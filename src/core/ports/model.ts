import type { Json } from '../../schema/json.ts';
import type { AssistantPart, Message } from '../../schema/message.ts';
import type { ModelFailureKind, Usage } from '../../schema/run.ts';
import type { JsonSchema } from './json-schema.ts';

/** A tool as it is described to a model. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
}

export interface ModelSettings {
  /** The maximum length of one answer, including reasoning. */
  readonly maxOutputTokens?: number | undefined;
  /** How random the answers are. By default the provider decides. */
  readonly temperature?: number | undefined;
  /** Provider-specific options, by provider: `{ anthropic: { … } }`. */
  readonly provider?: Readonly<Record<string, Readonly<Record<string, Json>>>> | undefined;
}

export interface ModelRequest {
  readonly instructions: string;
  /** Every tool call in the messages has its result. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolOffer[];
  /** The answer must be JSON that fits this schema. */
  readonly output?: JsonSchema | undefined;
  readonly settings: ModelSettings;
  /** The maximum bytes of the answer. An adapter that assembles it fails with `endless` beyond them. */
  readonly maxBytes?: number | undefined;
  readonly signal: AbortSignal;
}

/** A piece of the answer while it is being written. */
export interface ModelDelta {
  readonly kind: 'text' | 'reasoning' | 'tool-input';
  readonly text: string;
}

export type Finish = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';

export interface ModelAnswer {
  /** The parts of the answer, including data that the provider needs back verbatim. */
  readonly parts: readonly AssistantPart[];
  readonly finish: Finish;
  readonly usage: Usage;
}

/** USD per million tokens. */
export interface Price {
  /** The price of input tokens. */
  readonly input: number;
  /** The price of output tokens. */
  readonly output: number;
  /** The price of input that the provider reads from its cache. By default the same as `input`. */
  readonly cachedInput?: number | undefined;
  /** The price of input that the provider writes to its cache. By default the same as `input`. */
  readonly cacheWrite?: number | undefined;
}

export interface Model {
  /** The name as `provider/model`, such as `anthropic/claude-sonnet-5`. */
  readonly name: string;
  /** The maximum tokens of a request and its answer together. */
  readonly contextTokens: number;
  /** Null if the price is unknown. */
  readonly price: Price | null;
  /** Sends a request to the model. Throws a ModelFailure if the model returns no answer. */
  answer(request: ModelRequest, onDelta: (delta: ModelDelta) => void): Promise<ModelAnswer>;
}

/**
 * Returns the name of an agent's model in logs and listings. The model may be a string, a script, a model of the AI
 * SDK, or a `Model`.
 */
export const modelName = (model: unknown): string | undefined => {
  if (typeof model === 'string') return model;
  const { provider, modelId, name, steps } = (model ?? {}) as Partial<Record<string, unknown>>;
  // A provider of the AI SDK such as `anthropic.messages` serves models named `anthropic/…`.
  if (typeof modelId === 'string') return `${String(provider).split('.')[0]}/${modelId}`;
  if (Array.isArray(steps)) return `scripted/${name ?? 'script'}`;
  return typeof name === 'string' ? name : undefined;
};

/** The provider of a model: the part of its name before the first slash. */
export const providerOf = (model: string): string => model.split('/', 1)[0]!;

export interface ResolveModel {
  /** Resolves the model that an agent names. Throws HOSTED_MODEL_UNAVAILABLE, whose message says what to configure. */
  (model: unknown): Promise<Model>;
  /** Returns what must be configured before the model can be used. Undefined if nothing is missing. Opens nothing. */
  problem(model: unknown): string | undefined;
}

export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly failure: ModelFailureKind;
  /** The delay before a retry that the provider requested. */
  readonly retryAfterMs: number | undefined;
  /** The usage that the provider reported despite the failure. */
  readonly usage: Usage | undefined;

  constructor(
    failure: ModelFailureKind,
    message: string,
    options: {
      readonly retryAfterMs?: number | undefined;
      readonly usage?: Usage | undefined;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.failure = failure;
    this.retryAfterMs = options.retryAfterMs;
    this.usage = options.usage;
  }
}
