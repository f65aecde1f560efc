import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { type Json, Text } from '../../schema/json.ts';
import type { Provenance } from '../../schema/state.ts';
import type { SessionKey } from '../ports/store.ts';
import type { CommitCommand } from '../session/decide-commit.ts';
import { parseInput } from '../session/event-codec.ts';
import { type SessionFold, sound } from '../session/fold.ts';
import { type DifferingEntry, differingPaths, type Merge, mergeEntries } from '../session/merge-entries.ts';
import { isSameJson } from '../session/patch-between.ts';
import { valueAt } from '../session/state-change.ts';
import { type CommitRecord, commitRecord } from './commits.ts';
import { execute } from './execute.ts';
import { type Meeting, meetingsOf } from './meetings.ts';
import { keyOf, type Scope } from './scope.ts';

/** An entry that both sides changed, each in its own way. */
export type AdoptConflict = DifferingEntry;

export interface Adoption {
  /** Undefined when the branch had nothing new. */
  readonly commit?: CommitRecord | undefined;
  readonly adopted: readonly string[];
  readonly conflicts: readonly AdoptConflict[];
}

const Options = z.strictObject({
  /** What becomes of entries that both changed: ours stay (the default), theirs replace them, or nothing is adopted at all. */
  onConflict: z.enum(['ours', 'theirs', 'fail']).default('ours'),
  why: Text.max(2000).optional(),
});
export type AdoptOptions = z.input<typeof Options>;

/** Each entry as both had it where they last had the same. */
const basesOf = async (
  scope: Scope,
  [ours, theirs]: readonly [SessionKey, SessionKey],
  meetings: readonly Meeting[],
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
    `${branch} is no branch of the same tree: adopt a fork of this session or of its parent`,
    { details: { session: key.session, branch } },
  );

const refuseConflicts = (conflicts: Merge['conflicts']): void => {
  if (conflicts.length === 0) return;
  const paths = conflicts.map(({ path }) => path);
  throw new PerdureError('ADOPT_CONFLICT', `both branches changed ${paths.join(', ')}: choose ours or theirs`, {
    details: { conflicts },
  });
};

const differencesOf = async (
  scope: Scope,
  key: SessionKey,
  ours: SessionFold,
  branchKey: SessionKey,
  theirs: SessionFold,
): Promise<readonly DifferingEntry[]> => {
  const meetings = await meetingsOf(scope, [key, ours], [branchKey, theirs]);
  if (meetings.length === 0) throw noBranch(key, branchKey.session);
  const paths = differingPaths(ours.state, theirs.state);
  const bases = await basesOf(scope, [key, branchKey], meetings, paths);
  return paths.map((path) => ({
    path,
    base: bases.get(path) as Json | undefined,
    ours: valueAt(ours.state, path) as Json | undefined,
    theirs: valueAt(theirs.state, path) as Json | undefined,
  }));
};

/** Takes over what a branch of the same family changed in its state, as one commit, and reports where both had changed the same. */
export const adoptBranch = async (
  scope: Scope,
  key: SessionKey,
  branch: SessionId,
  options: AdoptOptions = {},
): Promise<Adoption> => {
  const { onConflict, why = `adopts ${branch}` } = parseInput('the adoption', Options, options);
  const branchKey = keyOf(scope, branch);
  let merge: Merge = { operations: [], adopted: [], conflicts: [] };
  const [event] = await execute(scope, key, async (outline): Promise<CommitCommand | undefined> => {
    const ours = sound(outline);
    const theirs = await scope.folds.head(branchKey);
    const entries = await differencesOf(scope, key, ours, branchKey, theirs);
    merge = mergeEntries(entries, ours.state, onConflict === 'theirs' ? 'theirs' : 'ours');
    if (onConflict === 'fail') refuseConflicts(merge.conflicts);
    if (merge.operations.length === 0) return undefined;
    const origin = { kind: 'adopt', session: branch, seq: theirs.seq } as const;
    const entryProvenance = provenanceOf(theirs, merge.adopted);
    const { agents } = scope;
    return { type: 'commit', change: merge.operations, why, by: 'member', entryProvenance, origin, agents };
  });
  const { adopted, conflicts } = merge;
  return { ...(event && { commit: commitRecord(event as SessionEvent<'state.committed'>) }), adopted, conflicts };
};
