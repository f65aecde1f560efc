import { type MediaKind, mediaKindOf } from '../../../schema/media-kind.ts';
import type { BrokenOff, FilePart, Message, ToolCallPart, ToolResultPart } from '../../../schema/message.ts';
import { isToldInPart, toldBrokenOff } from './broken-off.ts';
import { markChars } from './mark-untrusted.ts';
import { turnsKey } from './recall-key.ts';
import { shownChars } from './shown-chars.ts';

/** A message of the live lineage, with its turn. */
export interface ContextEntry {
  readonly seq: number;
  readonly turn: number;
  readonly message: Message;
  /** Why the answer broke off. Absent if the message is complete. */
  readonly brokenOff?: BrokenOff | undefined;
  /** The model that wrote the message, if a run recorded it. */
  readonly model?: string | undefined;
  /** The key that recalls the whole result, if the message has only a part of it. */
  readonly cut?: string | undefined;
}

/** The assumed number of characters per token. A rough estimate that needs no tokenizer. */
export const charsPerToken = 4;

export const textTokens = (text: string): number => Math.ceil(text.length / charsPerToken);
/** The number of tokens of a part's content and of its other fields. */
const shownTokens = (shown: unknown, about: object): number =>
  Math.ceil((shownChars(shown) + shownChars(about)) / charsPerToken);

const base64Chars = 4 / 3;
/**
 * The estimated tokens of a file. An image costs the same whatever its size in bytes. A document costs a few thousand
 * tokens per page of tens of kilobytes.
 */
const fileTokens: Record<MediaKind, (bytes: number) => number> = {
  image: () => 1600,
  document: (bytes) => 1600 + bytes / 16,
  text: (bytes) => bytes / charsPerToken,
  other: () => 0,
};

const partTokens = (part: Message['content'][number]): number => {
  switch (part.type) {
    case 'file': {
      const { data, ...about } = part satisfies FilePart;
      return shownTokens('', about) + Math.ceil(fileTokens[mediaKindOf(part.mediaType)](data.length / base64Chars));
    }
    case 'tool-call': {
      const { input, ...about } = part;
      return shownTokens(JSON.stringify(input), about);
    }
    case 'tool-result': {
      const { output, ...about } = part;
      return shownTokens(output, about) + (part.untrusted ? markChars / charsPerToken : 0);
    }
    default: {
      const { text, ...about } = part;
      return shownTokens(text, about);
    }
  }
};

/** The cached estimates, because assembling a context needs them several times and messages never change. */
const estimated = new WeakMap<Message, number>();

export const estimateTokens = (message: Message): number => {
  const known = estimated.get(message);
  if (known !== undefined) return known;
  const tokens = message.content.reduce((sum: number, part) => sum + partTokens(part), 4);
  estimated.set(message, tokens);
  return tokens;
};

/** An indivisible part of a context: one message, or a message with tool calls together with their results. */
export interface Unit {
  readonly seq: number;
  readonly turn: number;
  readonly messages: readonly Message[];
  readonly tokens: number;
  /** The keys of content that the messages show only in part. */
  readonly leftOut: readonly string[];
}

const interrupted = ({ callId, tool }: ToolCallPart): ToolResultPart => ({
  type: 'tool-result',
  callId,
  tool,
  outcome: 'interrupted',
  output: 'No result was recorded for this call.',
});

/**
 * Adds one message with all results directly after each message with calls, because providers require it. A call
 * without a recorded result gets the outcome `interrupted`. A result without its call is dropped.
 */
export const pairCalls = (entries: readonly ContextEntry[]): readonly Unit[] => {
  const results = new Map<
    string,
    { part: ToolResultPart; id: Message['id']; index: number; cut?: string | undefined }[]
  >();
  entries.forEach(({ message, cut }, index) => {
    if (message.role !== 'tool') return;
    for (const part of message.content) {
      const known = results.get(part.callId);
      if (known) known.push({ part, id: message.id, index, cut });
      else results.set(part.callId, [{ part, id: message.id, index, cut }]);
    }
  });
  return entries.flatMap(({ seq, turn, message, brokenOff }, index): Unit[] => {
    if (message.role === 'tool') return [];
    const unit = (messages: readonly Message[], leftOut: readonly string[] = []): Unit[] => [
      { seq, turn, messages, tokens: messages.reduce((sum, each) => sum + estimateTokens(each), 0), leftOut },
    ];
    if (brokenOff) {
      return unit(toldBrokenOff(message, brokenOff, turn), isToldInPart(message) ? [turnsKey(turn, turn)] : []);
    }
    const calls = message.role === 'assistant' ? message.content.filter((part) => part.type === 'tool-call') : [];
    if (calls.length === 0) return unit([message]);
    const answers = calls.map((call) => {
      const waiting = results.get(call.callId) ?? [];
      const found = waiting.findIndex((result) => result.index > index);
      return found < 0 ? { part: interrupted(call), id: message.id, cut: undefined } : waiting.splice(found, 1)[0]!;
    });
    const leftOut = answers.flatMap(({ cut }) => cut ?? []);
    return unit([message, { id: answers[0]!.id, role: 'tool', content: answers.map(({ part }) => part) }], leftOut);
  });
};
