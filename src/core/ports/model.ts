import type { Json } from '../../schema/json.ts';
import type { AssistantPart, Message } from '../../schema/message.ts';
import type { ModelFailureKind, Usage } from '../../schema/run.ts';
import type { JsonSchema } from './json-schema.ts';

/** A tool as a model is told of it. */
export interface ToolOffer {
  readonly name: string;
  readonly description: string;
  readonly input: JsonSchema;
}

export interface ModelSettings {
  /** How long one answer may be, thinking included. */
  readonly maxOutputTokens?: number | undefined;
  /** How freely the model chooses its words. Without it, the provider decides. */
  readonly temperature?: number | undefined;
  /** Options that only one provider knows, as it names them, by provider: `{ anthropic: { … } }`. */
  readonly provider?: Readonly<Record<string, Readonly<Record<string, Json>>>> | undefined;
}

export interface ModelRequest {
  readonly instructions: string;
  /** Every tool call among them has its result. */
  readonly messages: readonly Message[];
  readonly tools: readonly ToolOffer[];
  /** The answer has to be JSON of this form. */
  readonly output?: JsonSchema | undefined;
  readonly settings: ModelSettings;
  readonly signal: AbortSignal;
}

/** A piece of the answer while it is being written. */
export interface ModelDelta {
  readonly kind: 'text' | 'reasoning' | 'tool-input';
  readonly text: string;
}

export type Finish = 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'other';

export interface ModelAnswer {
  /** With what the provider wants back word for word. */
  readonly parts: readonly AssistantPart[];
  readonly finish: Finish;
  readonly usage: Usage;
}

/** USD per million tokens. */
export interface Price {
  /** Of what it is asked. */
  readonly input: number;
  /** Of what it answers. */
  readonly output: number;
  /** Of input that the provider had cached; by default as `input`. */
  readonly cachedInput?: number | undefined;
  /** Of input that the provider put into its cache; by default as `input`. */
  readonly cacheWrite?: number | undefined;
}

export interface Model {
  /** Such as `anthropic/claude-sonnet-5`. */
  readonly name: string;
  /** Of a request and its answer together. */
  readonly contextTokens: number;
  /** Null when it is not known. */
  readonly price: Price | null;
  /** Throws ModelFailure. */
  answer(request: ModelRequest, onDelta: (delta: ModelDelta) => void): Promise<ModelAnswer>;
}

/** The name by which logs and listings know an agent's model: a string, a script, a model of the AI SDK, or a `Model`. */
export const modelName = (model: unknown): string | undefined => {
  if (typeof model === 'string') return model;
  const { provider, modelId, name, steps } = (model ?? {}) as Partial<Record<string, unknown>>;
  // `anthropic.messages` serves `anthropic/…`.
  if (typeof modelId === 'string') return `${String(provider).split('.')[0]}/${modelId}`;
  if (typeof name !== 'string') return undefined;
  return Array.isArray(steps) ? `scripted/${name}` : name;
};

/** The model that an agent has, or a PerdureError HOSTED_MODEL_UNAVAILABLE that says what to set. */
export type ResolveModel = (model: unknown) => Promise<Model>;

export class ModelFailure extends Error {
  override readonly name = 'ModelFailure';
  readonly failure: ModelFailureKind;
  /** What the provider asked to wait. */
  readonly retryAfterMs: number | undefined;
  /** What the provider counted nevertheless. */
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
