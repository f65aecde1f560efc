import type { Price } from '../core/ports/model.ts';
import type { Script } from './script.ts';

/** `chat`: OpenAI Chat Completions and all that is compatible; `responses`: OpenAI Responses; `messages`: Anthropic Messages. */
export type ProviderApi = 'chat' | 'responses' | 'messages';

export interface ProviderConfig {
  readonly baseUrl?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly api?: ProviderApi | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether a `chat` server takes JSON schemas for its answers; true unless said otherwise. */
  readonly structuredOutput?: boolean | undefined;
}

export interface ModelConfig {
  readonly contextTokens?: number | undefined;
  readonly price?: Price | undefined;
  /** How long it may send nothing. */
  readonly stallMs?: number | undefined;
}

export interface ModelsConfig {
  /** By the name before the slash: where it is and how it speaks. */
  readonly providers?: Readonly<Record<string, ProviderConfig>> | undefined;
  /** By the whole name, such as `ollama/qwen3`. */
  readonly models?: Readonly<Record<string, ModelConfig>> | undefined;
  readonly scripts?: readonly Script[] | undefined;
  /** Of models that do not say. */
  readonly contextTokens?: number | undefined;
  readonly stallMs?: number | undefined;
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Waited for before each word of a script. */
  readonly pause?: ((signal: AbortSignal) => Promise<unknown>) | undefined;
}
