import type { Json } from '../schema/json.ts';
import type { AssistantPart, Message, MessageInput, ToolOutcome } from '../schema/message.ts';
import { toPrompt } from './to-prompt.ts';

/** The output of a tool, as the AI SDK sends it to a model. */
interface ModelOutput {
  readonly type: string;
  readonly value?: unknown;
  readonly reason?: string | undefined;
}

interface ModelPart {
  readonly type: string;
  readonly text?: string;
  readonly toolCallId?: string;
  readonly toolName?: string;
  readonly input?: unknown;
  readonly output?: ModelOutput;
  readonly providerOptions?: unknown;
}

/** A message of the AI SDK, such as those of `(await result.response).messages`. */
export interface ModelMessageLike {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly object[];
}

/**
 * Converts the messages of a context for a loop of the AI SDK: for `messages` of `streamText` or `generateText`. The
 * loop's own type of a message is inferred, so that these types need no package.
 */
export const toModelMessages = <Converted extends ModelMessageLike = ModelMessageLike>(
  messages: readonly Message[],
): Converted[] => toPrompt('', messages) as unknown as Converted[];

const outcomes: Readonly<Record<string, ToolOutcome>> = {
  'error-text': 'threw',
  'error-json': 'threw',
  'execution-denied': 'denied',
};

const resultPart = ({ toolCallId, toolName, output }: ModelPart) => ({
  type: 'tool-result' as const,
  callId: toolCallId!,
  tool: toolName!,
  outcome: outcomes[output?.type ?? ''] ?? 'ok',
  output: (output?.value ?? output?.reason ?? null) as Json,
});

/** Keeps what the provider needs back to continue, such as signed reasoning. */
const provider = ({ providerOptions }: ModelPart) =>
  providerOptions === undefined ? {} : { provider: providerOptions as Json };

const assistantPart = (part: ModelPart): AssistantPart[] => {
  if (part.type === 'text' || part.type === 'reasoning') {
    return [{ type: part.type, text: part.text ?? '', ...provider(part) }];
  }
  if (part.type !== 'tool-call') return [];
  const { toolCallId: callId, toolName: tool, input } = part;
  return [{ type: 'tool-call', callId: callId!, tool: tool!, input: (input ?? {}) as Json, ...provider(part) }];
};

const isResult = ({ type }: ModelPart): boolean => type === 'tool-result';

const fromModelMessage = ({ role, content }: ModelMessageLike): readonly MessageInput[] => {
  if (role === 'tool') {
    const results = (content as readonly ModelPart[]).filter(isResult).map(resultPart);
    return results.length > 0 ? [{ role, content: results }] : [];
  }
  if (typeof content === 'string') return [{ role, content }];
  const parts = content as readonly ModelPart[];
  if (role !== 'assistant') {
    return [{ role, content: parts.flatMap(({ text }) => (text === undefined ? [] : [text])).join('\n') }];
  }
  // A tool that the provider ran has its result in the message of the call.
  const results = parts.filter(isResult).map(resultPart);
  return [
    { role, content: parts.flatMap(assistantPart) },
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
  ];
};

/** Converts messages of the AI SDK for `append`: text, reasoning, calls and results. */
export const fromModelMessages = (messages: readonly ModelMessageLike[]): readonly MessageInput[] =>
  messages.flatMap(fromModelMessage);
