import { z } from 'zod';
import { MessageId } from './ids.ts';
import { Text } from './json.ts';
import type { Message } from './message.ts';

const Seq = z.int().positive();

/** Names the message that asked for a tool call, and the event that has it. */
export const SaidRef = z.strictObject({ message: MessageId, seq: Seq });
export type SaidRef = z.infer<typeof SaidRef>;

/** Like `SaidRef`, in the start of a call. A call that begins in the append of its message counts the events back to it. */
export const CallSaid = z.union([SaidRef, z.strictObject({ message: MessageId, back: Seq })]);
export type CallSaid = z.infer<typeof CallSaid>;

/** The seq of the message, for a call that began at `seq`. */
export const saidRefAt = (said: CallSaid, seq: number): SaidRef =>
  'seq' in said ? said : { message: said.message, seq: seq - said.back };

/** The words of a text or a reasoning are cut to this length. The transcript has all of them. */
export const maxSaidChars = 1000;

/** What the agent said when it asked for a call. Only the reference is left if the message cannot be read. */
export const Said = SaidRef.extend({
  text: Text.optional(),
  /** What the model thought before, where the provider shows it. */
  reasoning: Text.optional(),
  /** Set if the text or the reasoning is longer. */
  clipped: z.literal(true).optional(),
}).meta({ id: 'Said' });
export type Said = z.infer<typeof Said>;

/** The beginning of a text, without half a character. */
const beginningOf = (text: string): string => text.slice(0, maxSaidChars).replace(/[\uD800-\uDBFF]$/, '');

/** The words of an agent's message: its text, and its reasoning where the provider shows it. */
export const saidWords = (message: Message, seq: number): Said | undefined => {
  if (message.role !== 'assistant') return undefined;
  const joined = (type: 'text' | 'reasoning'): string =>
    message.content
      .flatMap((part) => (part.type === type ? part.text.trim() : []))
      .filter(Boolean)
      .join('\n');
  const [text, reasoning] = [joined('text'), joined('reasoning')];
  return {
    message: message.id,
    seq,
    ...(text && { text: beginningOf(text) }),
    ...(reasoning && { reasoning: beginningOf(reasoning) }),
    ...((text.length > maxSaidChars || reasoning.length > maxSaidChars) && { clipped: true }),
  };
};
