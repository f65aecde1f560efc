import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { entryOf } from '../../schema/pointer.ts';
import { type ChangedFile, lowestProvenance, type Provenance, type StoredOperation } from '../../schema/state.ts';
import { execute } from '../engine/execute.ts';
import type { AgentAccess, FilesAccess, LogAccess, WriteAccess } from '../engine/scope.ts';
import { treeOf } from '../files/tree.ts';
import type { CommitQuery, SessionKey } from '../ports/store.ts';
import type { CommitWithFiles, NewFiles } from '../session/decide-files.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { type SessionFold, sound } from '../session/fold.ts';
import { isLive, liveWithin } from '../session/live-lineage.ts';
import { type CommitRecord, commitRecord } from '../session/state/commit-record.ts';
import { isToolCounter } from '../session/state/merge-entries.ts';
import { isSameJson } from '../session/state/patch-between.ts';
import { touchedPaths } from '../session/state/touched-paths.ts';
import { joinFiles } from '../session-files/join-files.ts';

const pageSize = 200;

const Seq = z.int().nonnegative();
const Options = z.strictObject({ why: Text.max(2000).optional() });
export type RevertOptions = z.input<typeof Options>;

/** Removes tool counters from a commit. Reverting does not change them, because the calls did happen. */
const withoutCounters = (commit: CommitRecord): CommitRecord => ({
  ...commit,
  delta: commit.delta.filter(({ path }) => !isToolCounter(path)),
  inverse: commit.inverse.filter(({ path }) => !isToolCounter(path)),
  entries: commit.entries.filter((path) => !isToolCounter(path)),
});

const readCommit = async (scope: LogAccess, key: SessionKey, seq: number): Promise<CommitRecord | undefined> => {
  const [stored] = seq > 0 ? await scope.store.read(key, { after: seq - 1, upTo: seq, limit: 1 }) : [];
  const event = stored && decodeEvent(key.workspace, stored);
  return event?.type === 'state.committed' ? withoutCounters(commitRecord(event)) : undefined;
};

const noSuchCommit = ({ session }: SessionKey, seq: number): PerdureError =>
  new PerdureError('POINT_NOT_FOUND', `event ${seq} is not a commit of the live lineage of ${session}`, {
    details: { session, seq },
  });

const moved = (path: string, from: string, to: string): readonly string[] =>
  path.startsWith(from) ? [to + path.slice(from.length)] : [];

/** Returns the pin of a fact or the fact of a pin, because a pin depends on its fact. */
const partnerOf = (entry: string): readonly string[] => [
  ...moved(entry, '/facts/', '/pins/'),
  ...moved(entry, '/pins/', '/facts/'),
];

/** The live commits after the given one that touch one of its entries, newest first. */
const commitsSince = async (
  scope: LogAccess,
  key: SessionKey,
  { live, seq: head }: SessionFold,
  { seq, entries }: CommitRecord,
): Promise<readonly CommitRecord[]> => {
  const ranges = liveWithin(live, seq, head);
  const found = new Map<number, CommitRecord>();
  for (const prefix of ranges.length > 0 ? [...entries, ...entries.flatMap(partnerOf)] : []) {
    for (let before: CommitQuery['before']; ; ) {
      const query = { within: { session: key.session, ranges }, prefix, before, limit: pageSize };
      const page = await scope.store.findCommits(scope.workspace, query);
      for (const stored of page) {
        const event = decodeEvent(scope.workspace, stored) as SessionEvent<'state.committed'>;
        found.set(event.seq, commitRecord(event));
      }
      const last = page.at(-1);
      if (page.length < pageSize || !last) break;
      before = { at: last.at, session: last.session, seq: last.seq };
    }
  }
  return [...found.values()].sort((a, b) => b.seq - a.seq);
};

/** The entries of a lift whose provenance has changed since. */
const liftedAnew = (commit: CommitRecord, now: SessionFold): readonly string[] => {
  if (commit.origin?.kind !== 'lift') return [];
  return touchedPaths(commit).flatMap(({ path, provenance }) => (now.provenance[path] === provenance ? [] : [path]));
};

/**
 * Returns the later commits that still have an effect. A commit and its revert cancel each other out. A lift changes
 * no value, so it conflicts only with an earlier lift of the same entries.
 */
const standing = (
  newestFirst: readonly CommitRecord[],
  commit: CommitRecord,
  now: SessionFold,
): readonly CommitRecord[] => {
  const cancelled = new Set<number>();
  for (const { seq, origin } of newestFirst) {
    if (cancelled.has(seq) || origin?.kind !== 'revert' || origin.seq <= commit.seq) continue;
    cancelled.add(seq).add(origin.seq);
  }
  const anew = liftedAnew(commit, now);
  const counts = ({ origin }: CommitRecord): boolean =>
    origin?.kind !== 'lift' || origin.paths.some((path) => anew.includes(path));
  return newestFirst.filter((each) => !cancelled.has(each.seq) && counts(each));
};

/**
 * Whether an operation adds a whole entry. Used on both delta and inverse, because an entry that one of them removes
 * is added by the other.
 */
const addsEntry = ({ op, path }: StoredOperation): boolean => op === 'add' && path === entryOf(path);

/**
 * Returns every path that a commit changes, every list that it depends on, and the pins of facts that it adds or
 * removes.
 */
const reachOf = ({ delta, inverse, origin }: CommitRecord): readonly string[] => {
  if (origin?.kind === 'lift') return origin.paths;
  const operations = [...delta, ...inverse];
  const pins = operations.filter(addsEntry).flatMap(({ path }) => moved(path, '/facts/', '/pins/'));
  return [...operations.map(({ path }) => path), ...pins];
};

const isAtOrBelow = (path: string, above: string): boolean => `${path}/`.startsWith(`${above}/`);

const sharedPaths = (one: CommitRecord, other: CommitRecord): readonly string[] =>
  reachOf(one).filter((path) => reachOf(other).some((each) => isAtOrBelow(path, each) || isAtOrBelow(each, path)));

const refuseOverlaps = (commit: CommitRecord, later: readonly CommitRecord[]): void => {
  const overlapping = later.filter((each) => sharedPaths(commit, each).length > 0);
  if (overlapping.length === 0) return;
  const paths = [...new Set(overlapping.flatMap((each) => sharedPaths(commit, each)))];
  const seqs = overlapping.map(({ seq }) => seq).sort((a, b) => a - b);
  throw new PerdureError(
    'REVERT_CONFLICT',
    `commit ${commit.seq} cannot be reverted: ${paths.join(', ')} changed again in ${seqs.join(', ')}; revert those first, or commit the value you want`,
    { details: { seq: commit.seq, paths, later: seqs } },
  );
};

/**
 * Each entry gets its earlier provenance back. If a later commit changed the entry too, it gets at most its current
 * provenance.
 */
const restoredProvenance = (
  { entries }: CommitRecord,
  earlier: SessionFold,
  now: SessionFold,
  later: readonly CommitRecord[],
): Readonly<Record<string, Provenance>> =>
  Object.fromEntries(
    entries.flatMap((path) => {
      const had = earlier.provenance[path];
      if (!had) return [];
      const has = later.some((each) => each.entries.includes(path)) ? now.provenance[path] : undefined;
      return [[path, has ? lowestProvenance([had, has]) : had]];
    }),
  );

/**
 * The file snapshot written with a commit, recognized by its origin. Only adoptions and reverts have such a snapshot.
 * Reverting any other commit does not change files.
 */
const snapshotOf = async (
  scope: LogAccess,
  key: SessionKey,
  { seq, origin }: CommitRecord,
): Promise<number | undefined> => {
  if (origin?.kind !== 'adopt' && origin?.kind !== 'revert') return undefined;
  const [stored] = await scope.store.read(key, { after: seq - 2, upTo: seq - 1, limit: 1 });
  const event = stored && decodeEvent(key.workspace, stored);
  return event?.type === 'files.snapshotted' && isSameJson(event.payload.origin, origin) ? event.seq : undefined;
};

/** The session's files without the changes that came with a commit. Undefined if the commit changed no files. */
const filesWithout = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  fold: SessionFold,
  commit: CommitRecord,
): Promise<NewFiles | undefined> => {
  const snapshot = await snapshotOf(scope, key, commit);
  if (snapshot === undefined) return undefined;
  const base = treeOf(await scope.folds.at(key, snapshot));
  const theirs = treeOf(await scope.folds.at(key, snapshot - 1));
  const ours = treeOf(fold);
  const { tree, changes, conflicts } = await joinFiles(scope, { base, ours, theirs, on: ours });
  if (conflicts) {
    const { paths } = conflicts;
    throw new PerdureError(
      'REVERT_CONFLICT',
      `commit ${commit.seq} cannot be reverted: ${paths.slice(0, 10).join(', ')} changed again; restore or write the files you want`,
      { details: { seq: commit.seq, paths } },
    );
  }
  return { tree, changes, leftOut: fold.files?.leftOut ?? {}, origin: { kind: 'revert', seq: commit.seq } };
};

/** A commit that reverts another. */
export interface Reversal extends CommitRecord {
  /** The files that the revert changed. Reverting an adoption also reverts its file changes. */
  readonly files: readonly ChangedFile[];
}

/**
 * Reverts a commit by applying its inverse. The revert is rejected if a later commit touched the same entries, because
 * that later change would be lost.
 */
export const revertCommit = async (
  scope: WriteAccess & FilesAccess & AgentAccess,
  key: SessionKey,
  seq: number,
  options: RevertOptions = {},
): Promise<Reversal | undefined> => {
  parseInput('the commit', Seq, seq);
  const { why = `reverts ${seq}` } = parseInput('the revert', Options, options);
  const commit = await readCommit(scope, key, seq);
  if (!commit) throw noSuchCommit(key, seq);
  let files: NewFiles | undefined;
  const events = await execute(scope, key, async (outline): Promise<CommitWithFiles> => {
    const fold = sound(outline);
    if (!isLive(fold.live, seq)) throw noSuchCommit(key, seq);
    const later = standing(await commitsSince(scope, key, fold, commit), commit, fold);
    refuseOverlaps(commit, later);
    const entryProvenance = restoredProvenance(commit, await scope.folds.at(key, seq - 1), fold, later);
    const origin = commit.origin?.kind === 'lift' ? commit.origin : ({ kind: 'revert', seq } as const);
    files = await filesWithout(scope, key, fold, commit);
    const change = commit.inverse;
    return { type: 'commit', change, why, by: 'member', origin, entryProvenance, agents: scope.agents, files };
  });
  const event = events.find(({ type }) => type === 'state.committed') as SessionEvent<'state.committed'> | undefined;
  return event && { ...commitRecord(event), files: files?.changes ?? [] };
};
