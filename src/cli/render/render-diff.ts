import type { SessionDiff } from '../../core/state/diff.ts';
import type { EntryCommit } from '../../core/state/entry-commits.ts';
import { pointerOf } from '../../schema/pointer.ts';
import { displayWidth, truncate, wrap } from '../terminal/display-width.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Style, Terminal } from '../terminal/terminal.ts';
import { type ChangeText, changeText, type EntryChange } from './change-text.ts';
import { committedBy } from './commit-table.ts';
import { type Part, parts, titleOf } from './entry-text.ts';
import { renderHappened, renderUsed } from './render-happened.ts';
import { reasonText, saidText } from './said-text.ts';

const signStyle: Readonly<Record<ChangeText['sign'], Style>> = { '+': 'green', '-': 'red', '~': 'yellow' };
const indent = '    ';
const signWidth = 4;

const labelled = (label: string, text: string, { columns, style }: Terminal): readonly string[] =>
  hangingIndent(`${indent}${label} `, text, columns, `${indent}${style('dim', label)} `);

type EntryCommits = NonNullable<SessionDiff['commits'][string]>;

/** Authors of an entry, before and after the change, as far as its sign needs them. */
const authors = (sign: ChangeText['sign'], { before, after }: EntryCommits): readonly [string, EntryCommit][] => {
  const was: [string, EntryCommit][] = before ? [['was by', before]] : [];
  const now: [string, EntryCommit][] = after ? [[sign === '~' ? 'now by' : 'by', after]] : [];
  if (sign === '+') return now;
  return sign === '-' && after ? now : [...was, ...now];
};

/** Minimum width of a quote. A narrower one says nothing. */
const leastQuote = 16;

/** The author of an entry and the reason. A quote of what the agent said stays on the line. */
const authorText = (commit: EntryCommit, room: number, shownWhy = ''): string => {
  const why = commit.why === undefined ? '' : printableLine(commit.why);
  const author = `${committedBy(commit)}, turn ${commit.turn}`;
  if (why !== '') return shownWhy.includes(why) ? author : `${author}: ${why}`;
  return withQuote(author, saidText(commit.said), room);
};

const withQuote = (text: string, quote: string | undefined, room: number): string =>
  quote ? `${text}: ${truncate(quote, Math.max(leastQuote, room - displayWidth(text) - 2))}` : text;

/** A changed file with the reason for its last change. The entry itself names the tool. */
const fileLine = ({ sign, line }: ChangeText, { before, after }: EntryCommits, room: number): string => {
  const commit = sign === '-' ? before : after;
  return withQuote(line, commit && reasonText(commit), room);
};

const changeLines = (
  part: Part,
  change: ChangeText,
  commits: EntryCommits | undefined,
  out: Terminal,
): readonly string[] => {
  const { sign, line, why } = change;
  const marked = (text: string) =>
    hangingIndent(`  ${sign} `, text, out.columns, `  ${out.style(signStyle[sign], sign)} `);
  if (part === 'filesModified') return marked(fileLine(change, commits ?? {}, out.columns - signWidth));
  return [
    ...marked(line),
    ...(why ? labelled('why:', why, out) : []),
    ...authors(sign, commits ?? {}).flatMap(([label, commit]) => {
      const room = out.columns - indent.length - label.length - 1;
      return labelled(label, authorText(commit, room, why), out);
    }),
  ];
};

const places = ({ from, to }: SessionDiff, { columns }: Terminal): readonly string[] =>
  wrap(
    from.session === to.session
      ? `${from.session} from seq:${from.seq} to seq:${to.seq}`
      : `from ${from.session}@seq:${from.seq} to ${to.session}@seq:${to.seq}`,
    columns,
  );

/** Files and counters that the files and calls above show already. */
const isShown = ({ files, calls }: SessionDiff, part: Part, id: string): boolean =>
  (part === 'filesModified' && files.some(({ path, from }) => path === id || from === id)) ||
  (part === 'toolsUsed' && calls.length > 0);

const section = <P extends Part>(diff: SessionDiff, part: P, out: Terminal): readonly string[] => {
  const all = diff[part] as unknown as readonly EntryChange<P>[];
  const changes = all.filter(({ id }) => !isShown(diff, part, id));
  if (changes.length === 0) return [];
  return [
    out.style('bold', part === 'filesModified' && diff.files.length > 0 ? 'files in the state' : titleOf[part]),
    ...changes.flatMap((each) =>
      changeLines(part, changeText(part, each), diff.commits[pointerOf(part, each.id)], out),
    ),
  ];
};

/** Shows what happened, was decided, learnt, planned and changed between two places, by whom and why. */
export const renderDiff = (diff: SessionDiff, out: Terminal): readonly string[] => [
  ...diff.headline.split('\n').flatMap((line) => wrap(printableLine(line), out.columns)),
  ...places(diff, out).map((line) => out.style('dim', line)),
  ...(diff.same
    ? []
    : [...renderHappened(diff, out), ...parts.flatMap((part) => section(diff, part, out)), ...renderUsed(diff, out)]),
];
