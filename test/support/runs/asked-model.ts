import type { Model, ModelAnswer, ModelRequest } from '../../../src/core/ports/model.ts';
import type { Message } from '../../../src/schema/message.ts';

type Step = string | readonly { readonly tool: string; readonly input?: unknown }[];

/** A model that takes the given steps in order and keeps its requests. After the last step it says `Done.` */
export const askedModel = (...steps: readonly Step[]): { readonly model: Model; readonly asked: ModelRequest[] } => {
  const asked: ModelRequest[] = [];
  const answer = async (request: ModelRequest): Promise<ModelAnswer> => {
    const step = steps[asked.length] ?? 'Done.';
    asked.push(request);
    const of = asked.length;
    const parts =
      typeof step === 'string'
        ? [{ type: 'text' as const, text: step }]
        : step.map(({ tool, input = {} }, place) => ({
            type: 'tool-call' as const,
            callId: `call_${of}_${place}`,
            tool,
            input: input as never,
          }));
    const finish = typeof step === 'string' ? 'stop' : 'tool-calls';
    return { parts, finish, usage: { inputTokens: 1, outputTokens: 1 } };
  };
  return { model: { name: 'test/asked', contextTokens: 100_000, price: null, answer }, asked };
};

const textOfPart = (part: Message['content'][number]): string => {
  if (part.type === 'text') return part.text;
  return part.type === 'tool-result' ? String(part.output) : '';
};

/** All text of the messages of a request, results included. */
export const textOf = ({ messages }: ModelRequest): string =>
  messages.flatMap(({ content }) => content.map((part) => textOfPart(part))).join('\n');
