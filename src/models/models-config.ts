import type { Price } from '../core/ports/model.ts';

/**
 * `chat` is OpenAI Chat Completions and compatible APIs, `responses` is OpenAI Responses, `messages` is Anthropic
 * Messages.
 */
export type ProviderApi = 'chat' | 'responses' | 'messages';

export interface ProviderConfig {
  /** The address of the API. */
  readonly baseUrl?: string | undefined;
  /** The API key. It is never written to a log or a file, and never sent to a model. */
  readonly apiKey?: string | undefined;
  /**
   * The API that the server speaks: `chat` for OpenAI Chat Completions, `responses` for OpenAI Responses, `messages`
   * for Anthropic Messages.
   */
  readonly api?: ProviderApi | undefined;
  /** HTTP headers that are sent with each request. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether a `chat` server accepts a JSON schema for its answers. True by default. */
  readonly structuredOutput?: boolean | undefined;
}

export interface ModelConfig {
  /** The maximum number of tokens of a request and its answer together. */
  readonly contextTokens?: number | undefined;
  /** The price in USD per million tokens, for a model whose price Perdure does not know. */
  readonly price?: Price | undefined;
  /** How long the model may send nothing before the request is retried. */
  readonly stallMs?: number | undefined;
}

export interface ModelsConfig {
  /** The address and API of each provider, by the name before the slash. */
  readonly providers?: Readonly<Record<string, ProviderConfig>> | undefined;
  /** The limits and price of each model, by its whole name, such as `ollama/qwen3`. */
  readonly models?: Readonly<Record<string, ModelConfig>> | undefined;
  /** The default of `contextTokens` for models without their own. */
  readonly contextTokens?: number | undefined;
  /** The default of `stallMs` for models without their own. */
  readonly stallMs?: number | undefined;
  /** Environment variables to use instead of those of the process. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Called and awaited before each word of a script, for demonstrations. */
  readonly pause?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}
