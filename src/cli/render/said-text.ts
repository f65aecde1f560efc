import type { SessionEvent } from '../../schema/event.ts';
import type { MessageId } from '../../schema/ids.ts';
import { maxSaidChars, type Said, saidWords } from '../../schema/said.ts';
import { printableLine } from '../terminal/printable.ts';

const quoted = (words: string, { clipped }: Said): string => {
  const isCut = clipped && words.length >= maxSaidChars - 1; // half a character less
  return `"${printableLine(words).replaceAll('"', '\\"')}${isCut ? '…' : ''}"`;
};

/** What the agent said, as a quote on one line. A message without text is quoted by its reasoning, marked as such. */
export const saidText = (said: Said | undefined): string | undefined => {
  if (said?.text) return quoted(said.text, said);
  return said?.reasoning ? `reasoning ${quoted(said.reasoning, said)}` : undefined;
};

/** Why a commit was made, for people: its reason, or else what the agent said when it asked for the call. */
export const reasonText = ({
  why,
  said,
}: {
  readonly why?: string | undefined;
  readonly said?: Said | undefined;
}): string | undefined => (why ? printableLine(why) : saidText(said));

const maxRemembered = 100;

/** Returns a function that quotes the message of each commit in a listing of events, if the message was listed before. */
export const quoteListed = (): ((event: SessionEvent) => string | undefined) => {
  const listed = new Map<MessageId, Said>();
  return (event) => {
    if (event.type === 'state.committed') {
      const { why, said } = event.payload;
      return why || !said ? undefined : saidText(listed.get(said.message));
    }
    const words = event.type === 'message.appended' ? saidWords(event.payload.message, event.seq) : undefined;
    if (words) listed.set(words.message, words);
    if (listed.size > maxRemembered) listed.delete(listed.keys().next().value!);
    return undefined;
  };
};
