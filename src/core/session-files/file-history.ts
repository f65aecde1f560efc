import { z } from 'zod';
import { parseInput } from '../../schema/parse-input.ts';
import { Point } from '../../schema/point.ts';
import { pointerOf } from '../../schema/pointer.ts';
import type { ChangedFile, State } from '../../schema/state.ts';
import { findPoint } from '../engine/points.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import { findEntry, treeReader } from '../files/read-tree.ts';
import { isSameEntry, treeOf } from '../files/tree.ts';
import type { SessionKey } from '../ports/store.ts';
import type { CommitRecord } from '../session/state/commit-record.ts';
import { everyFile } from '../session/state/file-entries.ts';
import { eachCommit } from '../state/commits.ts';
import { SaidReader } from '../state/said.ts';
import { type FilePath, parseFilePath } from './file-path.ts';

const Options = z.strictObject({
  /** Only changes up to this point. By default up to the newest event. */
  at: Point.optional(),
  limit: z.int().positive().max(1000).default(100),
  /** Whether to include changes that were rewound. */
  includeRewound: z.boolean().default(false),
});
export type HistoryOptions = z.input<typeof Options>;

/** A change of a file: what changed, when, by which actor, and why. `path` is the file's path at that time. */
export type FileVersion = ChangedFile &
  Pick<CommitRecord, 'session' | 'seq' | 'turn' | 'at' | 'actor' | 'cause' | 'said' | 'why'>;

const entry = (name: string): string => pointerOf('filesModified', name);
const everything = entry(everyFile);

/** Returns the folder entries of the state under which a change of this file may be grouped. */
const foldersOf = ({ segments }: FilePath): readonly string[] => [
  everything,
  ...segments.slice(1).map((_, depth) => entry(`${segments.slice(0, depth + 1).join('/')}/`)),
];

/** Merges sequences that are sorted newest first. */
async function* merged(
  ...sources: readonly AsyncGenerator<CommitRecord, void, void>[]
): AsyncGenerator<CommitRecord, void, void> {
  const heads = await Promise.all(sources.map((source) => source.next()));
  for (;;) {
    const seqs = heads.map(({ value }) => value?.seq ?? 0);
    const newest = Math.max(...seqs);
    if (newest === 0) return;
    yield heads[seqs.indexOf(newest)]!.value!;
    for (const [index, seq] of seqs.entries()) if (seq === newest) heads[index] = await sources[index]!.next();
  }
}

/** A change, with the call that the state names for it. */
type Change = Pick<ChangedFile, 'change' | 'from'> & { readonly cause?: FileVersion['cause'] };

/** The change as recorded in the state. */
const recordedChange = async (
  scope: LogAccess,
  key: SessionKey,
  path: string,
  { delta, seq }: CommitRecord,
): Promise<Change | undefined> => {
  const whole = delta.find((operation) => operation.op !== 'test' && operation.path === entry(path));
  if (whole?.op === 'remove') return undefined;
  const recorded = whole
    ? (whole.value as State['filesModified'][string])
    : (await scope.folds.at(key, seq)).state.filesModified[path];
  if (!recorded) return undefined;
  const { change, from, tool, callId } = recorded;
  return { change, ...(from !== undefined && { from }), ...(tool && callId && { cause: { tool, callId } }) };
};

/** The change, found by comparing the snapshots before and after the commit. */
const foundChange = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  { path, segments }: FilePath,
  { seq }: CommitRecord,
): Promise<Change | undefined> => {
  const { files } = await scope.folds.at(key, seq);
  if (!files) return undefined;
  const trees = { before: treeOf(await scope.folds.at(key, files.seq - 1)), after: files.tree };
  const read = treeReader(scope.blobs);
  const [before, after] = [await findEntry(read, trees.before, segments), await findEntry(read, trees.after, segments)];
  if (before && after) return isSameEntry(before, after) ? undefined : { change: 'modified' };
  if (!after) return before && { change: 'deleted' };
  const changes = await scope.worktrees.changes(trees, scope.blobs);
  const moved = changes.find((each) => each.change === 'renamed' && each.path === path);
  return moved?.change === 'renamed' ? { change: 'renamed', from: moved.from } : { change: 'created' };
};

/**
 * The change of a file by a revert. A revert restores the entries of the state, so only the snapshot in the same
 * append shows how the files changed.
 */
const revertedChange = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  place: FilePath,
  commit: CommitRecord,
) => {
  const { files } = await scope.folds.at(key, commit.seq);
  return files?.seq === commit.seq - 1 ? foundChange(scope, key, place, commit) : undefined;
};

const changeOf = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  place: FilePath,
  commit: CommitRecord,
): Promise<Change | undefined> => {
  const { entries, origin } = commit;
  const isNamed = entries.includes(entry(place.path));
  if (!isNamed && !entries.some((each) => foldersOf(place).includes(each))) return undefined;
  if (origin?.kind === 'revert') return revertedChange(scope, key, place, commit);
  if (origin && origin.kind !== 'adopt') return undefined;
  return isNamed ? recordedChange(scope, key, place.path, commit) : foundChange(scope, key, place, commit);
};

/** The changes of one path before an event, newest first. */
async function* versionsOf(
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  place: FilePath,
  window: Parameters<typeof eachCommit>[3],
): AsyncGenerator<FileVersion, void, void> {
  const { path, segments } = place;
  const top = segments.length > 1 ? entry(`${segments[0]}/`) : entry(path);
  const found = merged(eachCommit(scope, key, top, window), eachCommit(scope, key, everything, window));
  for await (const commit of found) {
    const { session, seq, turn, at, actor, cause, said, why } = commit;
    const change = await changeOf(scope, key, place, commit);
    const made = { session, seq, turn, at, actor, why, ...(said && { said }) };
    if (change) yield { path, ...change, ...made, cause: cause ?? (commit.origin ? undefined : change.cause) };
  }
}

/** The changes of a file, newest first, followed through its renames. */
export const historyOf = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  input: string,
  options: HistoryOptions = {},
): Promise<readonly FileVersion[]> => {
  const { at, limit, includeRewound } = parseInput('the query', Options, options);
  const from = at ? await scope.folds.at(key, await findPoint(scope, key, at)) : await scope.folds.outline(key);
  const versions: FileVersion[] = [];
  let place: FilePath | undefined = parseFilePath(input);
  for (let before = Number.MAX_SAFE_INTEGER; place && versions.length < limit; ) {
    const current: FilePath = place;
    place = undefined;
    for await (const version of versionsOf(scope, key, current, { from, includeRewound, before })) {
      versions.push(version);
      if (versions.length >= limit) break;
      if (version.from === undefined) continue;
      place = parseFilePath(version.from);
      before = version.seq;
      break;
    }
  }
  return new SaidReader(scope, key).of(versions);
};
