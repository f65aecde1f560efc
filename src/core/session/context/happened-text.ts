import type { HappenedCall, HappenedCalls } from '../../../schema/happened.ts';
import { shorten } from './clip.ts';

const maxLineChars = 700;

/** An input that data from outside may have written would taint the context. */
const withheld = '(input left out: data from outside was in the context)';

const lineOf = ({ tool, input, tainted, outcome, at, session, callId }: HappenedCall): string => {
  const line = `- ${new Date(at).toISOString()} ${tool} ${tainted ? withheld : input} → ${outcome} (${callId} in ${session})`;
  return shorten(line.replaceAll(/\s+/g, ' '), maxLineChars);
};

const intro = (count: number): string =>
  `${count === 1 ? 'A call with effects was' : `${count} calls with effects were`} made outside the conversation below, before a rewind or retry or in another branch. ${count === 1 ? 'It was' : 'They were'} not undone. Do not repeat ${count === 1 ? 'it' : 'them'} unless you are asked to.`;

/**
 * The section that names the calls which already happened. It is always there if there are any. Its lines, newest
 * first, take at most `maxChars`. Reports the key `happened` if a call is left out.
 */
export const happenedText = (
  happened: HappenedCalls | undefined,
  maxChars: number,
  leaves: (key: string) => void = () => {},
): readonly string[] => {
  const { calls = [], more = 0 } = happened ?? {};
  const count = calls.length + more;
  if (count === 0) return [];
  let room = maxChars;
  const kept = calls
    .toReversed()
    .map(lineOf)
    .filter((line) => {
      room -= line.length + 1;
      return room >= 0;
    });
  const rest = count - kept.length;
  if (rest > 0) leaves('happened');
  const lines = [...kept, ...(rest > 0 ? [`(${rest} more: recall happened)`] : [])];
  return ['# What already happened', intro(count), lines.join('\n')];
};
