/** Options that the AI SDK and MCP clients pass with a tool call. */
export interface CallOptions {
  readonly toolCallId?: unknown;
  readonly abortSignal?: unknown;
  readonly signal?: unknown;
}

export const signalIn = (all: readonly unknown[]): AbortSignal | undefined =>
  all
    .flatMap((options) => [(options as CallOptions | null)?.abortSignal, (options as CallOptions | null)?.signal])
    .find((signal) => signal instanceof AbortSignal);
