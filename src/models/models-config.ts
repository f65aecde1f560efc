import type { Price } from '../core/ports/model.ts';

/** `chat`: OpenAI Chat Completions and all that is compatible; `responses`: OpenAI Responses; `messages`: Anthropic Messages. */
export type ProviderApi = 'chat' | 'responses' | 'messages';

export interface ProviderConfig {
  /** Where it is. */
  readonly baseUrl?: string | undefined;
  /** The key for it. It reaches no log, file or model. */
  readonly apiKey?: string | undefined;
  /** How it speaks: `chat` as OpenAI Chat Completions, `responses` as OpenAI Responses, `messages` as Anthropic Messages. */
  readonly api?: ProviderApi | undefined;
  /** Sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether a `chat` server takes JSON schemas for its answers; true unless said otherwise. */
  readonly structuredOutput?: boolean | undefined;
}

export interface ModelConfig {
  /** How many tokens a request and its answer may have together. */
  readonly contextTokens?: number | undefined;
  /** What it costs, in USD per million tokens, if Perdure does not know it. */
  readonly price?: Price | undefined;
  /** How long it may send nothing before it is asked again. */
  readonly stallMs?: number | undefined;
}

export interface ModelsConfig {
  /** By the name before the slash: where it is and how it speaks. */
  readonly providers?: Readonly<Record<string, ProviderConfig>> | undefined;
  /** By the whole name, such as `ollama/qwen3`. */
  readonly models?: Readonly<Record<string, ModelConfig>> | undefined;
  /** How many tokens a request and its answer may have together, for models that do not say. */
  readonly contextTokens?: number | undefined;
  /** How long a model may send nothing, for models that do not say. */
  readonly stallMs?: number | undefined;
  /** Read in place of the environment of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Called before each word of a script, which waits for it; for demonstrations. */
  readonly pause?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}
