import type { HappenedCall, HappenedCalls } from '../../schema/happened.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { count } from './quantity.ts';

const maxShown = 20;

const callText = ({ at, tool, input, outcome, session, seq }: HappenedCall): string =>
  printableLine(`${new Date(at).toISOString()} ${tool} ${input} → ${outcome} (${session}, event ${seq})`);

/** The calls that already happened, newest first, under a title. None if there are no calls. */
export const happenedLines = (title: string, { calls, more }: HappenedCalls, out: Terminal): readonly string[] => {
  const total = calls.length + more;
  if (total === 0) return [];
  const shown = calls.toReversed().slice(0, maxShown);
  const rest = total - shown.length;
  return [
    `${title}: ${count(total, 'call')} with effects`,
    ...shown.flatMap((call) => hangingIndent('  ', callText(call), out.columns)),
    ...(rest > 0 ? [`  and ${rest} more: --json lists up to 200`] : []),
  ];
};

export const notUndone = 'already happened, and is not undone';
