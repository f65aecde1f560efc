import type {
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';
import type { Json } from '../schema/json.ts';
import { mediaKindOf } from '../schema/media-kind.ts';
import type { AssistantPart, FilePart, Message, ToolResultPart } from '../schema/message.ts';
import { wireCallId } from './call-id.ts';

type Role = LanguageModelV4Message['role'];
type PartOf<R extends Role> = Exclude<Extract<LanguageModelV4Message, { role: R }>['content'], string>[number];
type UserPart = Extract<Message, { role: 'user' }>['content'][number];

const isRecord = (value: unknown): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const given = (provider: Json | undefined): { providerOptions?: SharedV4ProviderOptions } =>
  isRecord(provider) ? { providerOptions: provider as SharedV4ProviderOptions } : {};

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value));

const toFile = ({ mediaType, name, data, provider }: FilePart): LanguageModelV4FilePart => ({
  type: 'file',
  mediaType,
  data: { type: 'data', data },
  ...(name !== undefined && { filename: name }),
  ...given(provider),
});

const named = ({ name = 'without a name' }: FilePart): string => JSON.stringify(name);

/**
 * Sends text files as text and unsupported files by name only, because one rejected file would make every later request
 * of the session fail.
 */
const toGiven = (part: FilePart): PartOf<'user'> => {
  const bytes = Buffer.from(part.data, 'base64');
  switch (mediaKindOf(part.mediaType)) {
    case 'image':
    case 'document':
      return toFile(part);
    case 'text':
      return { type: 'text', text: `<file name=${named(part)}>\n${bytes.toString('utf8')}\n</file>` };
    case 'other':
      return {
        type: 'text',
        text: `(The file ${named(part)}, ${part.mediaType}, ${bytes.length} bytes, cannot be shown to a model.)`,
      };
  }
};

/** Drops empty text, because providers reject it. */
const toUserPart = (part: UserPart): PartOf<'user'>[] => {
  if (part.type === 'file') return [toGiven(part)];
  return part.text === '' ? [] : [{ type: 'text', text: part.text, ...given(part.provider) }];
};

const toAssistantPart = (part: AssistantPart): PartOf<'assistant'>[] => {
  switch (part.type) {
    case 'text':
      return toUserPart(part);
    case 'file':
      return [toFile(part)];
    case 'reasoning':
      return [{ type: 'reasoning', text: part.text, ...given(part.provider) }];
    case 'tool-call':
      return [
        {
          type: 'tool-call',
          toolCallId: wireCallId(part.callId),
          toolName: part.tool,
          // Providers reject a call whose input is not an object, even one that they produced themselves.
          input: isRecord(part.input) ? part.input : { invalid: part.input },
          ...given(part.provider),
        },
      ];
  }
};

const toOutput = ({ outcome, output }: ToolResultPart): LanguageModelV4ToolResultOutput => {
  if (outcome === 'ok') {
    return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output as never };
  }
  const text = `[${outcome}] ${asText(output)}`;
  return outcome === 'denied' ? { type: 'execution-denied', reason: text } : { type: 'error-text', value: text };
};

const toResult = (part: ToolResultPart, ofCall: Json | undefined): LanguageModelV4ToolResultPart => ({
  type: 'tool-result',
  toolCallId: wireCallId(part.callId),
  toolName: part.tool,
  output: toOutput(part),
  ...given(part.provider ?? ofCall),
});

/** The provider metadata of each call. Providers expect it on the result of the call too. */
const notesOfCalls = (messages: readonly Message[]): ReadonlyMap<string, Json | undefined> =>
  new Map(
    messages.flatMap(({ content }) =>
      content.flatMap((part) => (part.type === 'tool-call' ? [[part.callId, part.provider] as const] : [])),
    ),
  );

/** Merges consecutive user messages, because many servers require alternating roles. */
const addUser = (prompt: LanguageModelV4Prompt, content: PartOf<'user'>[]): void => {
  const last = prompt.at(-1);
  if (content.length === 0) return;
  if (last?.role === 'user') last.content.push(...content);
  else prompt.push({ role: 'user', content });
};

/** Sends later system messages as user messages, because many servers accept only one at the beginning. */
const addSystem = (prompt: LanguageModelV4Prompt, text: string): void => {
  const last = prompt.at(-1);
  if (text === '') return;
  if (last === undefined) prompt.push({ role: 'system', content: text });
  else if (last.role === 'system') last.content += `\n\n${text}`;
  else addUser(prompt, [{ type: 'text', text }]);
};

export const toPrompt = (instructions: string, messages: readonly Message[]): LanguageModelV4Prompt => {
  const prompt: LanguageModelV4Prompt = instructions === '' ? [] : [{ role: 'system', content: instructions }];
  const notes = notesOfCalls(messages);
  for (const message of messages) {
    switch (message.role) {
      case 'system':
        addSystem(prompt, message.content.map(({ text }) => text).join('\n\n'));
        break;
      case 'user':
        addUser(prompt, message.content.flatMap(toUserPart));
        break;
      case 'assistant': {
        const content = message.content.flatMap(toAssistantPart);
        if (content.length > 0) prompt.push({ role: 'assistant', content });
        break;
      }
      case 'tool':
        prompt.push({ role: 'tool', content: message.content.map((part) => toResult(part, notes.get(part.callId))) });
    }
  }
  return prompt;
};
