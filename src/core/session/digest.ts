import { pointerOf, type State } from '../../schema/state.ts';
import type { SessionFold } from './fold.ts';

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

/** What must stand in every context word for word: pinned facts and open actions. */
export const verbatim = ({ facts, pins, pendingActions }: State): readonly string[] => [
  ...Object.keys(pins).flatMap((key) => (Object.hasOwn(facts, key) ? [`${key}: ${textOf(facts[key])}`] : [])),
  ...Object.entries(pendingActions).flatMap(([id, { what, status }]) => (status === 'open' ? [`${id}: ${what}`] : [])),
];

const withinChars = (lines: readonly string[], maxChars: number, name: string): readonly string[] => {
  let used = 0;
  const kept = lines.filter((line) => {
    used += line.length + 3;
    return used <= maxChars;
  });
  const left = lines.length - kept.length;
  return left === 0 ? kept : [...kept, `(${left} more: recall ${name})`];
};

/** The durable state as a model reads it. Pinned facts and open actions are whole whatever the room; the rest shares `maxChars`. */
export const digestState = (
  { state, provenance }: Pick<SessionFold, 'state' | 'provenance'>,
  maxChars: number,
): string => {
  const { facts, pins, decisions, plan, progress, pendingActions } = state;
  const share = Math.floor(maxChars / 4);
  const doubt = (path: string) => (provenance[path] === 'unverified' ? ' (unverified)' : '');
  const pinned = verbatim({ ...state, pendingActions: {} });
  const open = verbatim({ ...state, pins: {} });
  const other = Object.entries(facts)
    .filter(([key]) => !Object.hasOwn(pins, key))
    .map(([key, value]) => `${key}: ${textOf(value)}${doubt(pointerOf('facts', key))}`);
  const decided = Object.entries(decisions).map(([id, { what, why }]) => `${id}: ${what} (because ${why})`);
  const steps = byOrder(plan).map(([id, { step, status }]) => `${marks[status]} ${id}: ${step}`);
  const settled = Object.values(pendingActions).filter(({ status }) => status === 'settled').length;
  return [
    ...section('Pinned facts', pinned),
    ...section('Open actions', open),
    ...(settled > 0 ? [`(${settled} settled)`] : []),
    ...section('Plan', withinChars(steps, share, 'plan')),
    ...section('Decisions', withinChars(decided.toReversed(), share, 'decisions')),
    ...section('Facts', withinChars(other.toReversed(), share, 'facts')),
    ...section(
      'Progress',
      withinChars(
        Object.values(progress)
          .map(({ note }) => note)
          .toReversed(),
        share,
        'progress',
      ),
    ),
  ].join('\n');
};
