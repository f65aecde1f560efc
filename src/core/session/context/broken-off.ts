import type { BrokenOff, Message } from '../../../schema/message.ts';
import { endsWithin } from './clip.ts';

/** The maximum length of a broken-off answer in a context. */
const maxToldChars = 8000;

const reasons: Readonly<Record<BrokenOff, string>> = {
  cancelled: 'the run was cancelled',
  stopped: 'the work on it was stopped',
  failed: 'the model failed',
};

/** Marks text of a broken-off answer, so that it is not taken for an answer. */
const mark = { perdure: { brokenOff: true } };

const clipped = (text: string, turn: number): string => {
  if (text.length <= maxToldChars) return text;
  const [head, tail] = endsWithin(text, maxToldChars);
  const left = text.length - head.length - tail.length;
  return `${head}\n[… ${left} of ${text.length} characters left out; recall turn:${turn} for all of it …]\n${tail}`;
};

const textOf = ({ content }: Message): string =>
  content.map((part) => (part.type === 'text' ? part.text : '')).join('');

/** Whether the model receives only the beginning and the end of a broken-off answer. */
export const isToldInPart = (message: Message): boolean => textOf(message).length > maxToldChars;

/**
 * A broken-off answer as the model receives it: the text, and a note that it is not complete. Its reasoning is left out,
 * because providers accept reasoning only with the signature that comes at its end.
 */
export const toldBrokenOff = (message: Message, why: BrokenOff, turn: number): readonly [Message, ...Message[]] => {
  const { id } = message;
  const text = textOf(message);
  const where = text === '' ? 'before its first word' : 'there';
  const note: Message = {
    id,
    role: 'system',
    content: [{ type: 'text', text: `(Your answer broke off ${where}, because ${reasons[why]}. It is not complete.)` }],
  };
  if (text === '') return [note];
  return [{ id, role: 'assistant', content: [{ type: 'text', text: clipped(text, turn), provider: mark }] }, note];
};
