import { pointerOf } from '../../../schema/pointer.ts';
import type { State } from '../../../schema/state.ts';
import type { Waiting } from '../../../schema/waiting.ts';
import { shorten } from '../context/clip.ts';
import { waitingLines } from '../context/waiting-text.ts';
import type { SessionFold } from '../fold.ts';
import { filesNewestFirst } from '../state/recent-files.ts';

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

const decisionText = ({ what, why, confidence, alternatives }: State['decisions'][string]): string => {
  const sure = confidence === undefined ? '' : `; confidence ${confidence}`;
  const against = alternatives?.length ? `; decided against ${alternatives.join(', ')}` : '';
  return `${what} (because ${why}${sure}${against})`;
};

const pinnedFacts = ({ facts, pins }: State): readonly Entry[] =>
  Object.keys(pins).flatMap((key) => (Object.hasOwn(facts, key) ? [factEntry(facts, key)] : []));

const openActions = ({ pendingActions }: State): readonly Entry[] =>
  Object.entries(pendingActions).flatMap(([id, { what, status }]) =>
    status === 'open' ? [[pointerOf('pendingActions', id), `${id}: ${what}`] as const] : [],
  );

/** The lines that every context must include verbatim: pinned facts and open actions. */
export const verbatim = (state: State): readonly string[] =>
  [...pinnedFacts(state), ...openActions(state)].map(([, line]) => line);

/** The newest notes say where the work is. Each context shows at most this many. */
const maxNotes = 20;

const maxPathChars = 200;

/** A path as one quoted word, because file names are not trusted. */
const quotedPath = (path: string): string => JSON.stringify(shorten(path, maxPathChars));

const changedFiles = (state: State, recent: readonly string[]): readonly Entry[] =>
  filesNewestFirst(state, recent).map((path) => {
    const { change, from, tool, files } = state.filesModified[path]!;
    const source = from === undefined ? '' : ` from ${quotedPath(from)}`;
    const by = tool === undefined ? '' : ` by ${JSON.stringify(tool)}`;
    const count = files === undefined ? '' : ` (${files} files)`;
    return [pointerOf('filesModified', path), `${quotedPath(path)} ${change}${source}${by}${count}`];
  });

/** A part of the digest that shares its room with others. */
interface SharedPart {
  readonly title: string;
  /** The key that recalls the part. */
  readonly name: string;
  readonly lines: readonly string[];
  /** How many entries have no line. */
  readonly hidden?: number;
}

/** A part gets no more than this share of the room, even if it is the only one. */
const leastSharers = 4;

type Leaves = (key: string) => void;

const withinChars = ({ lines, name, hidden = 0 }: SharedPart, maxChars: number, leaves: Leaves): readonly string[] => {
  let used = 0;
  const kept = lines.filter((line) => {
    used += line.length + 3;
    return used <= maxChars;
  });
  const left = lines.length - kept.length + hidden;
  if (left > 0) leaves(name);
  return left === 0 ? kept : [...kept, `(${left} more: recall ${name})`];
};

/**
 * The durable state as a model reads it, and what the session waits for. Pinned facts and open actions are always
 * complete. The rest shares `maxChars`. Reports the key of each part that is not complete.
 */
export const digestState = (
  { state, provenance, recentFiles }: Pick<SessionFold, 'state' | 'provenance' | 'recentFiles'>,
  maxChars: number,
  waiting?: Waiting,
  leaves: Leaves = () => {},
): string => {
  const { facts, pins, decisions, plan, progress, pendingActions, own } = state;
  const linesOf = (entries: readonly Entry[]): readonly string[] =>
    entries.map(([path, line]) => (provenance[path] === 'unverified' ? `${line} (unverified)` : line));
  const hasOwn = Object.keys(own).length > 0;
  if (hasOwn) leaves('own');
  const steps = byOrder(plan).map(
    ([id, { step, status }]): Entry => [pointerOf('plan', id), `${marks[status]} ${id}: ${step}`],
  );
  const decided = Object.entries(decisions).map(
    ([id, decision]): Entry => [pointerOf('decisions', id), `${id}: ${decisionText(decision)}`],
  );
  const others = Object.keys(facts)
    .filter((key) => !Object.hasOwn(pins, key))
    .map((key) => factEntry(facts, key));
  const notes = Object.entries(progress).map(([id, { note }]): Entry => [pointerOf('progress', id), note]);
  const settled = Object.values(pendingActions).filter(({ status }) => status === 'settled').length;
  const hidden = Object.values(waiting?.more ?? {}).reduce((sum, each) => sum + each, 0);
  const shared: readonly SharedPart[] = [
    { title: 'Plan', name: 'plan', lines: linesOf(steps) },
    { title: 'Decisions', name: 'decisions', lines: linesOf(decided.toReversed()) },
    { title: 'Facts', name: 'facts', lines: linesOf(others.toReversed()) },
    {
      title: 'Progress',
      name: 'progress',
      lines: linesOf(notes.slice(-maxNotes).toReversed()),
      hidden: Math.max(0, notes.length - maxNotes),
    },
    { title: 'Files changed', name: 'filesModified', lines: linesOf(changedFiles(state, recentFiles)) },
    { title: 'Waiting when this turn began', name: 'waiting', lines: waiting ? waitingLines(waiting) : [], hidden },
  ];
  const sharers = Math.max(leastSharers, shared.filter(({ lines }) => lines.length > 0).length);
  return [
    ...section('Pinned facts', linesOf(pinnedFacts(state))),
    ...section('Open actions', linesOf(openActions(state))),
    ...(settled > 0 ? [`(${settled} settled)`] : []),
    ...shared.flatMap((part) => section(part.title, withinChars(part, Math.floor(maxChars / sharers), leaves))),
    ...(hasOwn ? ["(The agent's own part of the state: recall own)"] : []),
  ].join('\n');
};
