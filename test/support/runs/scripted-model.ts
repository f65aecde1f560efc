import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';

export interface ScriptedCall {
  readonly id: string;
  readonly tool: string;
  readonly input: unknown;
}

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** An AI SDK model that makes the given calls, step by step, and then says that it is done. */
export const scriptedModel = (...steps: readonly (readonly ScriptedCall[])[]): MockLanguageModelV4 => {
  let step = 0;
  const nextCalls = () =>
    (steps[step++] ?? []).map(({ id, tool, input }) => ({
      type: 'tool-call' as const,
      toolCallId: id,
      toolName: tool,
      input: JSON.stringify(input),
    }));
  const finishOf = (calls: readonly unknown[]) => ({
    finishReason: { unified: calls.length > 0 ? ('tool-calls' as const) : ('stop' as const), raw: undefined },
    usage,
  });
  return new MockLanguageModelV4({
    doGenerate: async () => {
      const calls = nextCalls();
      const content = calls.length > 0 ? calls : [{ type: 'text' as const, text: 'done' }];
      return { content, ...finishOf(calls), warnings: [] };
    },
    doStream: async () => {
      const calls = nextCalls();
      return {
        stream: convertArrayToReadableStream([
          { type: 'stream-start' as const, warnings: [] },
          ...calls,
          { type: 'finish' as const, ...finishOf(calls) },
        ]),
      };
    },
  });
};
