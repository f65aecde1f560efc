import { z } from 'zod';
import { parseInput } from '../../schema/parse-input.ts';
import { pointerOf } from '../../schema/pointer.ts';
import { commonPoint } from '../engine/common-point.ts';
import { pageFields } from '../engine/page.ts';
import { type DiffPlace, type FoundPlace, foldAtPlace, type PlaceRef } from '../engine/places.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { SessionKey } from '../ports/store.ts';
import { compareSteps, type Matched } from '../session/diff/compare-sides.ts';
import { headlineOf } from '../session/diff/headline.ts';
import type { Side, SideCall, SideCommit, SideMessage, SideOutcome } from '../session/diff/side.ts';
import {
  isSameModels,
  type ModelDifference,
  modelsBetween,
  type UsageDifference,
  usageBetween,
} from '../session/diff/side-changes.ts';
import { type WordPart, wordSteps } from '../session/diff/word-diff.ts';
import { diffSteps, isEmptyDiff, type StateDiff } from '../session/state/diff.ts';
import { isSameJson } from '../session/state/patch-between.ts';
import { cursorAt, pageOf, placesOf } from './diff-page.ts';
import { type EntryCommit, entryCommits } from './entry-commits.ts';
import { type FileDifference, filesBetween, type ReadContents, withContents } from './file-differences.ts';
import { readSide } from './side.ts';

export const DiffOptions = z.strictObject({
  /** Whether the files come with text diffs of their content. */
  content: z.boolean().optional(),
  ...pageFields,
});
export type DiffOptions = z.input<typeof DiffOptions>;

/** A message that only one side has, or two that belong together, with the words that differ. */
export interface DifferingMessage extends Matched<SideMessage> {
  readonly words?: readonly WordPart[] | undefined;
}

/** The last answers of both sides. */
export interface AnswerDifference {
  readonly before?: NonNullable<Side['answer']> | undefined;
  readonly after?: NonNullable<Side['answer']> | undefined;
  readonly words: readonly WordPart[];
}

/** How many items of each kind there are on all pages. */
export interface DiffCounts {
  readonly messages: number;
  readonly calls: Readonly<Record<Matched<unknown>['match'], number>>;
  readonly commits: number;
  readonly files: number;
}

/** What happened differently between two places, and how their states and files differ. */
export interface SessionDiff extends StateDiff {
  readonly from: PlaceRef;
  readonly to: PlaceRef;
  /** The newest event that both live lineages share. What happened is compared from there on. 0 if they share none. */
  readonly common: number;
  /** Whether no message, call, commit, file, model, usage but durations, or outcome differs. */
  readonly same: boolean;
  /** At most three lines that quote and count what differs. */
  readonly headline: string;
  /** The last answers. Absent if both are the same. */
  readonly answer?: AnswerDifference | undefined;
  /** The messages that differ. The results of tools are in `calls`. */
  readonly messages: readonly DifferingMessage[];
  /** All calls of both sides, aligned by tool and input. */
  readonly calls: readonly Matched<SideCall>[];
  /** The commits that differ. */
  readonly committed: readonly Matched<SideCommit>[];
  readonly files: readonly FileDifference[];
  readonly counts: DiffCounts;
  readonly models: ModelDifference;
  readonly usage: UsageDifference;
  /** How the last run of each side ended. Absent for a side without a run. */
  readonly outcome: { readonly before?: SideOutcome | undefined; readonly after?: SideOutcome | undefined };
  /**
   * Events of each side that were not compared, because they are too many or damaged. `files` says why files were not
   * compared.
   */
  readonly unread: { readonly before: number; readonly after: number; readonly files?: string | undefined };
  /**
   * For each differing entry, the commits that set its value on each side, by path. Covers the first 100 entries, and no
   * counters.
   */
  readonly commits: Readonly<Record<string, { readonly before?: EntryCommit; readonly after?: EntryCommit }>>;
  /** The cursor of the next page, which has further messages, calls, commits and files. Absent on the last page. */
  readonly cursor?: string | undefined;
}

const maxEntries = 100;
const attributedParts = [
  'decisions',
  'facts',
  'pins',
  'plan',
  'pendingActions',
  'progress',
  'filesModified',
  'own',
  'scratch',
] as const;

const commitsOf = async (
  scope: LogAccess,
  diff: StateDiff,
  from: FoundPlace,
  to: FoundPlace,
): Promise<SessionDiff['commits']> => {
  const all = attributedParts.flatMap((part) => diff[part].map(({ id }) => pointerOf(part, id)));
  const paths = all.slice(0, maxEntries);
  const [before, after] = await Promise.all([entryCommits(scope, from, paths), entryCommits(scope, to, paths)]);
  return Object.fromEntries(
    paths.map((path) => {
      const [was, is] = [before.get(path), after.get(path)];
      return [path, { ...(was && { before: was }), ...(is && { after: is }) }];
    }),
  );
};

const differing = <T>(items: readonly Matched<T>[]): readonly Matched<T>[] =>
  items.filter(({ match }) => match !== 'same');

const callCounts = (calls: readonly Matched<SideCall>[]): DiffCounts['calls'] => {
  const counts = { same: 0, changed: 0, 'only-before': 0, 'only-after': 0 };
  for (const { match } of calls) counts[match] += 1;
  return counts;
};

const wordsBetween = (before: string | undefined, after: string | undefined): Promise<readonly WordPart[]> =>
  eventLoop.drain(wordSteps(before ?? '', after ?? ''));

const answerBetween = async ({ answer: before }: Side, { answer: after }: Side) => {
  if (before?.text === after?.text) return undefined;
  const words = await wordsBetween(before?.text, after?.text);
  return { ...(before && { before }), ...(after && { after }), words };
};

const withWords = async (message: Matched<SideMessage>): Promise<DifferingMessage> => {
  if (message.match !== 'changed') return message;
  return { ...message, words: await wordsBetween(message.before?.text, message.after?.text) };
};

const outcomeOf = ({ outcome: before }: Side, { outcome: after }: Side): SessionDiff['outcome'] => ({
  ...(before && { before }),
  ...(after && { after }),
});

/** Whether nothing happened differently, apart from how long it took. */
const isNothing = (
  { messages, calls, commits, files }: DiffCounts,
  { difference: { requests, tokens, costUsd } }: UsageDifference,
  outcome: SessionDiff['outcome'],
  unread: SessionDiff['unread'],
): boolean =>
  [messages, calls.changed, calls['only-before'], calls['only-after'], commits, files].every((count) => count === 0) &&
  [requests, tokens, costUsd, unread.before, unread.after].every((figure) => figure === 0) &&
  unread.files === undefined &&
  isSameJson(outcome.before, outcome.after);

/**
 * Compares two places: what happened on each side since the newest event that both share, and how their states and
 * files differ. `readContents` reads text diffs of files, with the caller's permission to read files.
 */
export const diffPlaces = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  [a, b]: readonly [DiffPlace, DiffPlace],
  options: DiffOptions,
  readContents: ReadContents,
): Promise<SessionDiff> => {
  const { content = false, limit, cursor } = parseInput('the options', DiffOptions, options);
  const start = placesOf(cursor, a, b);
  const [from, to] = await Promise.all([foldAtPlace(scope, key, start.a), foldAtPlace(scope, key, start.b)]);
  const common = await commonPoint(scope, from, to);
  const [state, before, after] = await Promise.all([
    eventLoop.drain(diffSteps(from.fold.state, to.fold.state)),
    readSide(scope, from, common),
    readSide(scope, to, common),
  ]);
  const compared = await eventLoop.drain(compareSteps(before, after));
  const { files, problem } = await filesBetween(scope, [from.fold, before], [to.fold, after]);
  const [models, usage] = [modelsBetween(before, after), usageBetween(before, after)];
  const [messages, committed] = [differing(compared.messages), differing(compared.commits)];
  const calls = callCounts(compared.calls);
  const counts = { messages: messages.length, calls, commits: committed.length, files: files.length };
  const outcome = outcomeOf(before, after);
  const unread = { before: before.unread, after: after.unread, ...(problem !== undefined && { files: problem }) };
  const same = isEmptyDiff(state) && isSameModels(models) && isNothing(counts, usage, outcome, unread);
  const answer = await answerBetween(before, after);
  const page = await pageOf({ messages, calls: compared.calls, committed, files }, start.offset, limit);
  return {
    from: from.place,
    to: to.place,
    common,
    same,
    headline: same
      ? 'no difference'
      : headlineOf({ files, state, sides: { before, after }, compared, usage, models }) || 'only figures differ',
    ...(answer && { answer }),
    messages: await Promise.all(page.messages.map(withWords)),
    calls: page.calls,
    committed: page.committed,
    files: content ? await withContents(page.files, readContents, from.place, to.place) : page.files,
    counts,
    models,
    usage,
    outcome,
    unread,
    ...state,
    commits: await commitsOf(scope, state, from, to),
    ...(page.isMore && { cursor: cursorAt(from.place, to.place, page.end) }),
  };
};
