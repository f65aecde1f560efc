import type { Message } from '../../schema/message.ts';
import { clip, shorten } from './context/clip.ts';

const maxChars = 80;
/** Only these messages are searched, so that a summary need not decode the messages of a whole log. */
const maxMessages = 4;
/** The part of a message that can contribute to the first words. */
const searchedChars = 1000;

interface Before {
  readonly firstWords?: string | undefined;
  readonly messages: number;
}

/** Whether a message can still become the first words of the session. */
export const wantsFirstWords = ({ firstWords, messages }: Before): boolean =>
  firstWords === undefined && messages < maxMessages;

/** The beginning of a person's message on one line. Undefined if the message has no text, or is not a person's. */
export const firstWordsOf = ({ role, content }: Message): string | undefined => {
  if (role !== 'user') return undefined;
  const text = content.flatMap((part) => (part.type === 'text' ? clip(part.text, searchedChars) : [])).join(' ');
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line === '' ? undefined : shorten(line, maxChars).toWellFormed();
};
