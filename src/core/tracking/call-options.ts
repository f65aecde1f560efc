/** Where the AI SDK and the MCP clients put what they say of a call. */
export interface CallOptions {
  readonly toolCallId?: unknown;
  readonly abortSignal?: unknown;
  readonly signal?: unknown;
}

export const signalIn = (all: readonly unknown[]): AbortSignal | undefined =>
  all
    .flatMap((options) => [(options as CallOptions | null)?.abortSignal, (options as CallOptions | null)?.signal])
    .find((signal) => signal instanceof AbortSignal);
