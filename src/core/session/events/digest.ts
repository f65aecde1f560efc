import { pointerOf } from '../../../schema/pointer.ts';
import type { State } from '../../../schema/state.ts';
import type { SessionFold } from '../fold.ts';

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

const byOrder = (plan: State['plan']) => Object.entries(plan).sort(([, a], [, b]) => a.order - b.order);

const marks: Record<State['plan'][string]['status'], string> = {
  todo: '[ ]',
  doing: '[>]',
  done: '[x]',
  dropped: '[-]',
};

const section = (title: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : [`## ${title}`, ...lines.map((line) => `- ${line}`)];

/** An entry of the state: its path, and the line that a model reads. */
type Entry = readonly [path: string, line: string];

const factEntry = (facts: State['facts'], key: string): Entry => [
  pointerOf('facts', key),
  `${key}: ${textOf(facts[key])}`,
];

const pinnedFacts = ({ facts, pins }: State): readonly Entry[] =>
  Object.keys(pins).flatMap((key) => (Object.hasOwn(facts, key) ? [factEntry(facts, key)] : []));

const openActions = ({ pendingActions }: State): readonly Entry[] =>
  Object.entries(pendingActions).flatMap(([id, { what, status }]) =>
    status === 'open' ? [[pointerOf('pendingActions', id), `${id}: ${what}`] as const] : [],
  );

/** The lines that every context must include verbatim: pinned facts and open actions. */
export const verbatim = (state: State): readonly string[] =>
  [...pinnedFacts(state), ...openActions(state)].map(([, line]) => line);

const withinChars = (lines: readonly string[], maxChars: number, name: string): readonly string[] => {
  let used = 0;
  const kept = lines.filter((line) => {
    used += line.length + 3;
    return used <= maxChars;
  });
  const left = lines.length - kept.length;
  return left === 0 ? kept : [...kept, `(${left} more: recall ${name})`];
};

/**
 * The durable state as a model reads it. Pinned facts and open actions are always complete. The rest shares `maxChars`.
 */
export const digestState = (
  { state, provenance }: Pick<SessionFold, 'state' | 'provenance'>,
  maxChars: number,
): string => {
  const { facts, pins, decisions, plan, progress, pendingActions, own } = state;
  const linesOf = (entries: readonly Entry[]): readonly string[] =>
    entries.map(([path, line]) => (provenance[path] === 'unverified' ? `${line} (unverified)` : line));
  const share = (entries: readonly Entry[], name: string): readonly string[] =>
    withinChars(linesOf(entries), Math.floor(maxChars / 4), name);
  const steps = byOrder(plan).map(
    ([id, { step, status }]): Entry => [pointerOf('plan', id), `${marks[status]} ${id}: ${step}`],
  );
  const decided = Object.entries(decisions).map(
    ([id, { what, why }]): Entry => [pointerOf('decisions', id), `${id}: ${what} (because ${why})`],
  );
  const others = Object.keys(facts)
    .filter((key) => !Object.hasOwn(pins, key))
    .map((key) => factEntry(facts, key));
  const notes = Object.entries(progress).map(([id, { note }]): Entry => [pointerOf('progress', id), note]);
  const settled = Object.values(pendingActions).filter(({ status }) => status === 'settled').length;
  return [
    ...section('Pinned facts', linesOf(pinnedFacts(state))),
    ...section('Open actions', linesOf(openActions(state))),
    ...(settled > 0 ? [`(${settled} settled)`] : []),
    ...section('Plan', share(steps, 'plan')),
    ...section('Decisions', share(decided.toReversed(), 'decisions')),
    ...section('Facts', share(others.toReversed(), 'facts')),
    ...section('Progress', share(notes.toReversed(), 'progress')),
    ...(Object.keys(own).length > 0 ? ["(The agent's own part of the state: recall own)"] : []),
  ].join('\n');
};
