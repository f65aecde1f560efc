import type { Message, ToolResultPart } from '../../../schema/message.ts';
import { endsWithin } from './clip.ts';
import { charsPerToken, estimateTokens, type Unit } from './context-units.ts';
import { shownChars } from './shown-chars.ts';

/** The space reserved for the note about a cut output, without the call id. */
const noteChars = 120;

const textOf = ({ output }: ToolResultPart): string => (typeof output === 'string' ? output : JSON.stringify(output));

const clipResult = (part: ToolResultPart, maxChars: number): ToolResultPart => {
  if (shownChars(part.output) <= maxChars) return part;
  const text = textOf(part);
  const [head, tail] = endsWithin(text, maxChars - noteChars - part.callId.length);
  const left = text.length - head.length - tail.length;
  const note = `[… ${left} of ${text.length} characters left out; recall call:${part.callId} for all of it …]`;
  return { ...part, output: [head, note, tail].filter(Boolean).join('\n') };
};

/**
 * The maximum length of each result so that all fit into `room`. Short results leave their unused share to the others.
 */
const fairShare = (lengths: readonly number[], room: number): number => {
  let left = room;
  for (const [place, length] of lengths.toSorted((a, b) => a - b).entries()) {
    const share = Math.floor(left / (lengths.length - place));
    if (length > share) return share;
    left -= length;
  }
  return Number.POSITIVE_INFINITY;
};

/**
 * Cuts the results of a unit so that the unit fits into `maxTokens`. The unit stays larger if its other parts alone
 * exceed the limit.
 */
export const clipResults = (unit: Unit, maxTokens: number): Unit => {
  if (unit.tokens <= maxTokens) return unit;
  const results = unit.messages.flatMap((message) => (message.role === 'tool' ? message.content : []));
  const lengths = results.map(({ output }) => shownChars(output));
  const others = unit.tokens * charsPerToken - lengths.reduce((sum, length) => sum + length, 0);
  const share = fairShare(lengths, maxTokens * charsPerToken - others);
  const messages = unit.messages.map(
    (message): Message =>
      message.role === 'tool'
        ? { ...message, content: message.content.map((part) => clipResult(part, share)) }
        : message,
  );
  return { ...unit, messages, tokens: messages.reduce((sum, message) => sum + estimateTokens(message), 0) };
};
