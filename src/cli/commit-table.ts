import type { CommitRecord } from '../core/service/commits.ts';
import type { Context } from './command.ts';
import { committedBy } from './committed-by.ts';
import { truncate } from './display-width.ts';
import { printableLine } from './printable.ts';
import { type Column, layOutTable } from './table.ts';
import { age, isoTime } from './time.ts';

const columns: readonly Column[] = [
  { title: 'SESSION', shortens: 4 },
  { title: 'SEQ', align: 'right', leaves: 2 },
  { title: 'TIME', align: 'right', leaves: 3 },
  { title: 'TURN', align: 'right' },
  { title: 'BY', leaves: 5 },
  { title: 'PROVENANCE', leaves: 1 },
  { title: 'CHANGED', flexible: true },
];
/** A longer name would take its whole column away from a narrow terminal. */
const maxName = 24;

const signs = { add: '+', remove: '-', replace: '~', test: '=' } as const;

const signOf = ({ delta, origin }: CommitRecord, entry: string): string => {
  if (origin?.kind === 'lift') return '^';
  const whole = delta.find(({ path }) => path === entry);
  return whole ? signs[whole.op] : '~';
};

const isCounter = (entry: string): boolean => entry.startsWith('/toolsUsed/');

/** The entries that a commit changed: + added, - removed, ~ changed, ^ lifted. Counters of tools come last, every call moves them. */
export const changedEntries = (commit: CommitRecord): string =>
  commit.entries
    .toSorted((a, b) => Number(isCounter(a)) - Number(isCounter(b)))
    .map((entry) => `${signOf(commit, entry)}${printableLine(entry)}`)
    .join(' ');

export const commitGist = (commit: CommitRecord): string => {
  const reason = commit.why ?? commit.outputSummary;
  return `${changedEntries(commit)}${reason ? `: ${printableLine(reason)}` : ''}`;
};

const provenancesOf = ({ entries, entryProvenance, provenance }: CommitRecord): string =>
  [...new Set(entries.map((entry) => entryProvenance?.[entry] ?? provenance))].join(', ');

interface Show {
  readonly time: (at: number) => string;
  readonly by: (name: string) => string;
}

const cells = (commit: CommitRecord, { time, by }: Show): readonly string[] => [
  commit.session,
  String(commit.seq),
  time(commit.at),
  String(commit.turn),
  by(committedBy(commit)),
  provenancesOf(commit),
  commitGist(commit),
];

/** One line per commit; a terminal is told how long ago, a pipe exactly when. */
export const commitTable = (
  commits: readonly CommitRecord[],
  { out, now }: Context,
  { withSession }: { readonly withSession: boolean },
): readonly string[] => {
  const at = now();
  const show: Show = out.isTerminal
    ? { time: (when) => age(when, at), by: (name) => truncate(name, maxName) }
    : { time: isoTime, by: (name) => name };
  const from = withSession ? 0 : 1;
  const rows = commits.map((commit) => cells(commit, show).slice(from));
  return layOutTable(columns.slice(from), rows, out.columns, (cell, _, row) =>
    row < 0 ? out.style('dim', cell) : cell,
  );
};
