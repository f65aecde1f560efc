import type { State } from '../../schema/state.ts';
import { truncate } from '../terminal/display-width.ts';
import { printableJson, printableLine } from '../terminal/printable.ts';
import { count } from './quantity.ts';

export type Part = keyof State;
export type EntryOf<P extends Part> = State[P][string];

export interface EntryText {
  readonly line: string;
  readonly why?: string | undefined;
}

const maxValue = 500;

/** A value on one line as JSON, so that "8080" and 8080 look different. */
export const valueText = (value: unknown): string => truncate(printableJson(value), maxValue);

const contextChars = 60;

const firstDifference = (a: string, b: string): number => {
  let place = 0;
  while (place < a.length && a[place] === b[place]) place += 1;
  return place;
};

/** Returns the text from shortly before the position to its end, without splitting a character. */
const aroundPlace = (text: string, place: number): string => {
  const start = place - contextChars;
  return truncate(`…${text.slice(start).replace(/^[\uDC00-\uDFFF]/, '')}`, maxValue);
};

/** Formats two differing values so that the difference is visible: long values are cut around the first difference. */
export const changedValues = (before: unknown, after: unknown): readonly [before: string, after: string] => {
  const [a, b] = [printableJson(before), printableJson(after)];
  const shown = [valueText(before), valueText(after)] as const;
  const place = firstDifference(a, b);
  // A character may take two columns, so half the limit is certain to be visible.
  const isSeen = (shown[0] === a && shown[1] === b) || place < maxValue / 2 - contextChars;
  return isSeen ? shown : [aroundPlace(a, place), aroundPlace(b, place)];
};

export const titleOf: Readonly<Record<Part, string>> = {
  decisions: 'decisions',
  facts: 'facts',
  pins: 'pinned facts',
  plan: 'plan',
  pendingActions: 'pending actions',
  filesModified: 'files',
  progress: 'progress',
  toolsUsed: 'tools',
  scratch: 'scratch',
  own: 'own part',
};
/** All collections of the state, in the order in which they are shown. */
export const parts = Object.keys(titleOf) as readonly Part[];

const named = (id: string, value: unknown): EntryText => ({ line: `${printableLine(id)}: ${valueText(value)}` });

const texts: { readonly [P in Part]: (id: string, entry: EntryOf<P>) => EntryText } = {
  decisions: (id, { what, why, confidence, alternatives }) => {
    const details = [
      ...(confidence === undefined ? [] : [`confidence ${confidence}`]),
      ...(alternatives?.length ? [`against ${alternatives.join(', ')}`] : []),
    ];
    return {
      line: printableLine(`${id}: ${what}${details.length > 0 ? ` (${details.join('; ')})` : ''}`),
      why: printableLine(why),
    };
  },
  facts: named,
  pins: (id) => ({ line: printableLine(id) }),
  plan: (id, { step, status }) => ({ line: printableLine(`${id}: ${step} (${status})`) }),
  pendingActions: (id, { what, status, outcome }) => ({
    line: printableLine(`${id}: ${what} (${status}${outcome === undefined ? '' : `: ${outcome}`})`),
  }),
  filesModified: (id, { change, from, tool, files }) => ({
    line: printableLine(
      `${id} ${change}${from === undefined ? '' : ` from ${from}`}${tool ? ` by ${tool}` : ''}${files ? `, ${count(files, 'file')}` : ''}`,
    ),
  }),
  progress: (id, { note }) => ({ line: printableLine(`${id}: ${note}`) }),
  toolsUsed: (id, { calls, failed }) => ({
    line: printableLine(`${id}: ${count(calls, 'call')}${failed > 0 ? `, ${failed} failed` : ''}`),
  }),
  scratch: named,
  own: named,
};

/** An entry of the state for people: safe to print, on one line, with its reason if it has one. */
export const entryText = <P extends Part>(part: P, id: string, entry: EntryOf<P>): EntryText =>
  (texts[part] as (id: string, entry: EntryOf<P>) => EntryText)(id, entry);
