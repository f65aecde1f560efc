import type { Message, ToolResultPart } from '../../../schema/message.ts';
import { endsWithin } from './clip.ts';
import { charsPerToken, estimateTokens, type Unit } from './context-units.ts';
import { callKey, cutNote, keyName } from './recall-key.ts';
import { shownChars } from './shown-chars.ts';

/** The space reserved for the note about a cut output, without the name of the call. */
const noteChars = 120;

const textOf = ({ output }: ToolResultPart): string => (typeof output === 'string' ? output : JSON.stringify(output));

const clipResult = (part: ToolResultPart, key: string, maxChars: number): ToolResultPart => {
  const text = textOf(part);
  const [head, tail] = endsWithin(text, maxChars - noteChars - keyName(key).length);
  const note = cutNote(key, text.length - head.length - tail.length, text.length);
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
  // The results of a unit are in the order of its calls.
  const calls = unit.messages.flatMap(({ content }) => content.filter((part) => part.type === 'tool-call'));
  const leftOut = new Set(unit.leftOut);
  const shownPart = (part: ToolResultPart, index: number): ToolResultPart => {
    if (lengths[index]! <= share) return part;
    const key = callKey(calls[index]!, unit.turn);
    leftOut.add(key);
    return clipResult(part, key, share);
  };
  const messages = unit.messages.map(
    (message): Message => (message.role === 'tool' ? { ...message, content: message.content.map(shownPart) } : message),
  );
  const tokens = messages.reduce((sum, message) => sum + estimateTokens(message), 0);
  return { ...unit, messages, tokens, leftOut: [...leftOut] };
};
