import type { SessionDiff } from '../../core/state/diff.ts';
import type { EntryCommit } from '../../core/state/entry-commits.ts';
import { pointerOf } from '../../schema/pointer.ts';
import { wrap } from '../terminal/display-width.ts';
import { hangingIndent } from '../terminal/hanging-indent.ts';
import { printableLine } from '../terminal/printable.ts';
import type { Style, Terminal } from '../terminal/terminal.ts';
import { type ChangeText, changeText, type EntryChange } from './change-text.ts';
import { committedBy } from './commit-table.ts';
import { type Part, parts, titleOf } from './entry-text.ts';

const signStyle: Readonly<Record<ChangeText['sign'], Style>> = { '+': 'green', '-': 'red', '~': 'yellow' };
const indent = '    ';

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

const authorText = (commit: EntryCommit, shownWhy = ''): string => {
  const why = commit.why === undefined ? '' : printableLine(commit.why);
  return `${committedBy(commit)}, turn ${commit.turn}${why === '' || shownWhy.includes(why) ? '' : `: ${why}`}`;
};

const changeLines = (
  { sign, line, why }: ChangeText,
  commits: EntryCommits | undefined,
  out: Terminal,
): readonly string[] => [
  ...hangingIndent(`  ${sign} `, line, out.columns, `  ${out.style(signStyle[sign], sign)} `),
  ...(why ? labelled('why:', why, out) : []),
  ...authors(sign, commits ?? {}).flatMap(([label, commit]) => labelled(label, authorText(commit, why), out)),
];

const headline = ({ from, to }: SessionDiff, { columns }: Terminal): readonly string[] =>
  wrap(
    from.session === to.session
      ? `${from.session} from seq:${from.seq} to seq:${to.seq}`
      : `from ${from.session}@seq:${from.seq} to ${to.session}@seq:${to.seq}`,
    columns,
  );

const section = <P extends Part>(diff: SessionDiff, part: P, out: Terminal): readonly string[] => {
  const changes = diff[part] as unknown as readonly EntryChange<P>[];
  if (changes.length === 0) return [];
  return [
    out.style('bold', titleOf[part]),
    ...changes.flatMap((each) => changeLines(changeText(part, each), diff.commits[pointerOf(part, each.id)], out)),
  ];
};

/** Shows what was decided, learnt, planned and changed between two places, by whom and why. */
export const renderDiff = (diff: SessionDiff, out: Terminal): readonly string[] => {
  const sections = parts.flatMap((part) => section(diff, part, out));
  return [
    ...headline(diff, out).map((line) => out.style('dim', line)),
    ...(sections.length > 0 ? sections : ['no difference']),
  ];
};
