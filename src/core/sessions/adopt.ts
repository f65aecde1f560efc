import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { HappenedCalls } from '../../schema/happened.ts';
import type { SessionId } from '../../schema/ids.ts';
import { type Json, Text } from '../../schema/json.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { Provenance } from '../../schema/state.ts';
import { execute } from '../engine/execute.ts';
import { type HappenedAccess, happenedIn, type LeftBehind } from '../engine/happened-calls.ts';
import { type AgentAccess, type FilesAccess, keyOf, type LogAccess, type WriteAccess } from '../engine/scope.ts';
import { treeOf } from '../files/tree.ts';
import type { SessionKey } from '../ports/store.ts';
import type { SessionCommand } from '../session/decide.ts';
import { type SessionFold, sound } from '../session/fold.ts';
import { allContributors } from '../session/runs/contributors.ts';
import { type CommitRecord, commitRecord } from '../session/state/commit-record.ts';
import { type DifferingEntry, differingPaths, type Merge, mergeEntries } from '../session/state/merge-entries.ts';
import { isSameJson } from '../session/state/patch-between.ts';
import { valueAt } from '../session/state/state-change.ts';
import { type MergeBase, mergeBases } from './merge-bases.ts';
import { entriesOfFiles, type MergedFiles, mergeFiles, settledByFiles } from './merge-files.ts';

/** An entry that both sides changed differently. */
export type AdoptConflict = DifferingEntry;

export interface Adoption {
  /** The commit of the adoption. Undefined when the branch had no new changes. */
  readonly commit?: CommitRecord | undefined;
  readonly adopted: readonly string[];
  readonly conflicts: readonly AdoptConflict[];
  /** The files that changed in this session, and the paths that both sides changed differently. */
  readonly files: Pick<MergedFiles, 'changes' | 'conflicts'>;
  /** The calls with effects of the branch that this session did not know yet. They happened too. */
  readonly happened: HappenedCalls;
}

const Options = z.strictObject({
  /**
   * How to treat entries that both sides changed: `ours` keeps them (the default), `theirs` replaces them, and `fail`
   * adopts nothing.
   */
  onConflict: z.enum(['ours', 'theirs', 'fail']).default('ours'),
  why: Text.max(2000).optional(),
});
export type AdoptOptions = z.input<typeof Options>;

/** The value of each entry at the newest merge base where both sides had the same value. */
const basesOf = async (
  scope: LogAccess,
  [ours, theirs]: readonly [SessionKey, SessionKey],
  meetings: readonly MergeBase[],
  paths: readonly string[],
): Promise<ReadonlyMap<string, unknown>> => {
  const bases = new Map<string, unknown>();
  for (const meeting of meetings) {
    const open = paths.filter((path) => !bases.has(path));
    if (open.length === 0) break;
    const { state: our } = await scope.folds.at(ours, meeting.ours);
    const { state: their } = await scope.folds.at(theirs, meeting.theirs);
    for (const path of open) {
      const value = valueAt(their, path);
      if (isSameJson(valueAt(our, path), value)) bases.set(path, value);
    }
  }
  return bases;
};

const provenanceOf = (theirs: SessionFold, paths: readonly string[]): Readonly<Record<string, Provenance>> =>
  Object.fromEntries(
    paths.flatMap((path) =>
      valueAt(theirs.state, path) === undefined ? [] : [[path, theirs.provenance[path] ?? 'unverified']],
    ),
  );

const noBranch = (key: SessionKey, branch: SessionId): PerdureError =>
  new PerdureError(
    'ADOPT_CONFLICT',
    `${branch} does not belong to the same tree of forks: adopt a fork of this session or of its parent`,
    { details: { session: key.session, branch } },
  );

const shownPaths = 10;

const refuseConflicts = ({ conflicts }: Merge, { conflicts: files }: MergedFiles): void => {
  const paths = [...conflicts.map(({ path }) => path), ...files];
  if (paths.length === 0) return;
  const more = paths.length > shownPaths ? ` and ${paths.length - shownPaths} more` : '';
  const named = `${paths.slice(0, shownPaths).join(', ')}${more}`;
  throw new PerdureError('ADOPT_CONFLICT', `both branches changed ${named}: choose ours or theirs`, {
    details: { conflicts, files },
  });
};

const differencesOf = async (
  scope: LogAccess,
  [key, ours]: readonly [SessionKey, SessionFold],
  [branchKey, theirs]: readonly [SessionKey, SessionFold],
  meetings: readonly MergeBase[],
): Promise<readonly DifferingEntry[]> => {
  const paths = differingPaths(ours.state, theirs.state);
  const bases = await basesOf(scope, [key, branchKey], meetings, paths);
  return paths.map((path) => ({
    path,
    base: bases.get(path) as Json | undefined,
    ours: valueAt(ours.state, path) as Json | undefined,
    theirs: valueAt(theirs.state, path) as Json | undefined,
  }));
};

interface Adopted {
  readonly merge: Merge;
  readonly files: MergedFiles;
  readonly left: LeftBehind;
  readonly command?: SessionCommand;
}

/** Builds one commit from all new changes in a branch's state and files. */
const adoptionOf = async (
  scope: HappenedAccess & FilesAccess,
  our: readonly [SessionKey, SessionFold],
  their: readonly [SessionKey, SessionFold],
  { onConflict, why }: z.infer<typeof Options>,
): Promise<Adopted> => {
  const [[key, ours], [branchKey, theirs]] = [our, their];
  const meetings = await mergeBases(scope, our, their);
  if (meetings.length === 0) throw noBranch(key, branchKey.session);
  const prefer = onConflict === 'theirs' ? 'theirs' : 'ours';
  const files = await mergeFiles(scope, our, their, meetings, prefer);
  const differing = await differencesOf(scope, our, their, meetings);
  const entries = ours.files || theirs.files ? settledByFiles(differing, files.changes) : differing;
  const merge = mergeEntries(entries, ours.state, prefer);
  if (onConflict === 'fail') refuseConflicts(merge, files);
  const untold = entriesOfFiles(files.changes, merge.adopted, ours.seq);
  const change = [...merge.operations, ...untold];
  const isSameTree = files.tree === treeOf(ours);
  const left = await happenedIn(scope, our, their);
  if (change.length === 0 && isSameTree) {
    return { merge, files, left, command: { type: 'happen', happened: left.all } };
  }
  const origin = { kind: 'adopt', session: branchKey.session, seq: theirs.seq } as const;
  const entryProvenance = {
    ...Object.fromEntries(untold.map(({ path }) => [path, 'unverified' as const])),
    ...provenanceOf(theirs, merge.adopted),
  };
  const newFiles = { tree: files.tree, changes: files.changes, leftOut: ours.files?.leftOut ?? {}, origin };
  const command: SessionCommand = {
    type: 'commit',
    change,
    why: why ?? `adopts ${branchKey.session}`,
    by: 'member',
    entryProvenance,
    origin,
    agents: scope.agents,
    happened: left.all,
    adopts: theirs,
    contributors: allContributors(theirs.contributors),
    ...(!isSameTree && { files: newFiles }),
  };
  return { merge, files, left, command };
};

/**
 * Adopts the changes of a branch of the same family in state and files, as one commit. Reports what both sides changed
 * differently.
 */
export const adoptBranch = async (
  scope: WriteAccess & FilesAccess & AgentAccess,
  key: SessionKey,
  branch: SessionId,
  options: AdoptOptions = {},
): Promise<Adoption> => {
  const parsed = parseInput('the adoption', Options, options);
  const branchKey = keyOf(scope, branch);
  let adoption: Adopted | undefined;
  const events = await execute(scope, key, async (outline) => {
    const theirs = await scope.folds.head(branchKey);
    adoption = await adoptionOf(scope, [key, sound(outline)], [branchKey, theirs], parsed);
    return adoption.command;
  });
  const { merge, files, left } = adoption!;
  const event = events.find(({ type }) => type === 'state.committed') as SessionEvent<'state.committed'> | undefined;
  return {
    ...(event && { commit: commitRecord(event) }),
    adopted: merge.adopted,
    conflicts: merge.conflicts,
    files: { changes: files.changes, conflicts: files.conflicts },
    happened: left.fresh,
  };
};
