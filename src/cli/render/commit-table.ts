import type { CommitRecord } from '../../core/session/state/commit-record.ts';
import { matchesPattern } from '../../schema/path-pattern.ts';
import { hasProvenance } from '../../schema/state.ts';
import type { Context } from '../parse/command.ts';
import { displayWidth, truncate, truncateStart } from '../terminal/display-width.ts';
import { printableLine } from '../terminal/printable.ts';
import { reasonText, saidText } from './said-text.ts';
import { type Column, highest, layOutTable } from './table.ts';
import { age, isoTime } from './time.ts';

/** Author of a commit: the tool that caused it, otherwise the actor. */
export const committedBy = ({ cause, actor }: Pick<CommitRecord, 'cause' | 'actor'>): string =>
  printableLine(cause ? `tool:${cause.tool}` : actor);

const columns: readonly Column[] = [
  { title: 'SESSION', shortens: 4 },
  { title: 'SEQ', align: 'right', leaves: 2 },
  { title: 'TIME', align: 'right', leaves: 3 },
  { title: 'TURN', align: 'right' },
  { title: 'BY', leaves: 5 },
  { title: 'PROVENANCE', leaves: 1 },
  { title: 'CHANGED', flexible: true },
];
/** Maximum width of a name. A longer one would leave too little of a narrow terminal. */
const maxName = 24;
/** Width that is enough for an entry, unless the terminal is wide. */
const enoughOfEntry = 30;
/** Minimum widths of a reason, and of an entry next to a count. Below these they are unreadable. */
const [leastReason, leastEntry] = [8, 12];

const signs = { add: '+', remove: '-', replace: '~', test: '=' } as const;

const signOf = ({ delta, origin }: CommitRecord, entry: string): string => {
  if (origin?.kind === 'lift') return '^';
  const whole = delta.find(({ path }) => path === entry);
  return whole ? signs[whole.op] : '~';
};

const isCounter = (entry: string): boolean => entry.startsWith('/toolsUsed/');

/**
 * The changed entries with their signs. Entries that match the query are first; tool counters are last, because every
 * call changes them.
 */
const signedEntries = (commit: CommitRecord, asked?: string): readonly string[] => {
  const rank = (entry: string): number =>
    asked !== undefined && matchesPattern(asked, entry) ? 0 : isCounter(entry) ? 2 : 1;
  return commit.entries
    .toSorted((a, b) => rank(a) - rank(b))
    .map((entry) => `${signOf(commit, entry)}${printableLine(entry)}`);
};

const reasonOf = (commit: CommitRecord): string => {
  const reason = reasonText(commit) ?? printableLine(commit.outputSummary ?? '');
  return reason ? `: ${reason}` : '';
};

/** The entries that a commit changed: + added, - removed, ~ changed, ^ lifted. */
export const changedEntries = (commit: CommitRecord): string => signedEntries(commit).join(' ');

export const commitGist = (commit: CommitRecord, asked?: string): string =>
  `${signedEntries(commit, asked).join(' ')}${reasonOf(commit)}`;

const moreText = ({ length }: readonly string[], shown: number): string =>
  shown < length ? `, ${length - shown} more` : '';

/**
 * Shows as many whole entries as fit. Of an entry that is too long the end is kept, because the ends of paths
 * distinguish files.
 */
const gistWithin = (commit: CommitRecord, width: number, asked: string | undefined): string => {
  const changed = signedEntries(commit, asked);
  // What the agent said tells more than a counter.
  const told = saidText(commit.said) ? changed.filter((entry) => !isCounter(entry.slice(1))) : changed;
  const entries = told.length > 0 ? told : changed;
  const all = entries.join(' ');
  const room = width - displayWidth(all);
  if (room >= 0) return room < leastReason ? all : truncate(`${all}${reasonOf(commit)}`, width);
  for (let shown = Math.min(entries.length - 1, width); shown > 0; shown--) {
    const text = `${entries.slice(0, shown).join(' ')}${moreText(entries, shown)}`;
    if (displayWidth(text) <= width) return text;
  }
  const [first = ''] = entries;
  const more = width - moreText(entries, 1).length < leastEntry ? '' : moreText(entries, 1);
  return `${first.slice(0, 1)}${truncateStart(first.slice(1), width - 1 - more.length)}${more}`;
};

/** The provenances of the changed entries. Bookkeeping has none. */
export const provenancesOf = ({ entries, entryProvenance, provenance }: CommitRecord): string => {
  const levels = entries.filter(hasProvenance).flatMap((entry) => entryProvenance?.[entry] ?? provenance ?? []);
  return [...new Set(levels)].join(', ');
};

interface Show {
  readonly time: (at: number) => string;
  readonly by: (name: string) => string;
}

const cells = (commit: CommitRecord, { time, by }: Show, asked: string | undefined): readonly string[] => [
  commit.session,
  String(commit.seq),
  time(commit.at),
  String(commit.turn),
  by(committedBy(commit)),
  provenancesOf(commit),
  commitGist(commit, asked),
];

/** One line per commit, with its age on a terminal and its exact time in a pipe. */
export const commitTable = (
  commits: readonly CommitRecord[],
  { out, now }: Context,
  { withSession, path }: { readonly withSession: boolean; readonly path?: string | undefined },
): readonly string[] => {
  const at = now();
  const show: Show = out.isTerminal
    ? { time: (when) => age(when, at), by: (name) => truncate(name, maxName) }
    : { time: isoTime, by: (name) => name };
  const from = withSession ? 0 : 1;
  const rows = commits.map((commit) => cells(commit, show, path).slice(from));
  const least = commits.map((commit) => {
    const entries = signedEntries(commit, path);
    return displayWidth(`${entries[0] ?? ''}${moreText(entries, 1)}`);
  });
  const wants = Math.min(highest(least), Math.max(enoughOfEntry, Math.floor(out.columns * 0.4)));
  const within: Column['within'] = (row, width) => gistWithin(commits[row]!, width, path);
  const own = columns.map((column) => (column.flexible ? { ...column, wants, within } : column));
  return layOutTable(own.slice(from), rows, out.columns, (cell, _, row) => (row < 0 ? out.style('dim', cell) : cell));
};
