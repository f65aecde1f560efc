import type { ShownState, State } from '../../schema/state.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import type { Terminal } from '../terminal/terminal.ts';
import { type EntryOf, entryText, type Part, parts, titleOf } from './entry-text.ts';
import { renderWaiting } from './waiting-lines.ts';

/** Entries of a collection: the steps of the plan in their order, all others as stored. */
const entriesOf = <P extends Part>(part: P, entries: State[P]): readonly (readonly [string, EntryOf<P>])[] => {
  const all = Object.entries(entries) as (readonly [string, EntryOf<P>])[];
  if (part !== 'plan') return all;
  const order = ([, entry]: readonly [string, unknown]): number => (entry as State['plan'][string]).order;
  return all.toSorted((a, b) => order(a) - order(b));
};

export const renderPart = <P extends Part>(part: P, entries: State[P], out: Terminal): readonly string[] => {
  const lines = entriesOf(part, entries).flatMap(([id, entry]) => {
    const { line, why } = entryText(part, id, entry);
    return [
      ...hangingIndent('  ', line, out.columns),
      ...(why ? hangingIndent('    why: ', why, out.columns, `    ${out.style('dim', 'why:')} `) : []),
    ];
  });
  return lines.length === 0 ? [] : [out.style('bold', titleOf[part]), ...lines];
};

/** The state for people: a section for each collection that is not empty, and what the session waits for. */
export const renderState = (state: ShownState, out: Terminal): readonly string[] => [
  ...parts.flatMap((part) => renderPart(part, state[part], out)),
  ...renderWaiting(state.waiting, out),
];
