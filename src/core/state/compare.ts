import { listOf } from '../../schema/bounded.ts';
import { parseInput } from '../../schema/parse-input.ts';
import { maxCompared, Place } from '../../schema/place.ts';
import { commonPoint } from '../engine/common-point.ts';
import { type DiffPlace, type FoundPlace, foldAtPlace, type PlaceRef } from '../engine/places.ts';
import { type FilesAccess, keyOf, type LogAccess } from '../engine/scope.ts';
import type { SessionKey } from '../ports/store.ts';
import { shorten } from '../session/context/clip.ts';
import type { Side } from '../session/diff/side.ts';
import type { StateDiff } from '../session/state/diff.ts';
import type { FileDifference } from './file-differences.ts';
import { resultOf, type SideResult } from './side.ts';

/** How a branch changed a decision since the common point. Texts are clipped to their beginnings. */
export interface ComparedDecision {
  readonly id: string;
  readonly change: 'added' | 'changed' | 'removed';
  readonly what: string;
  readonly why: string;
  /** What was decided at the common point, if the branch changed that. */
  readonly was?: string | undefined;
}

export type ComparedFile = Pick<FileDifference, 'path' | 'change' | 'from'>;

/** The first items of a list, and the number of the others. */
export interface FirstOf<T> {
  readonly first: readonly T[];
  readonly more: number;
}

/** What came of one branch since the point that all branches share. */
export interface ComparedBranch {
  readonly place: PlaceRef;
  /** The title of the session, or its first words. */
  readonly title?: string | undefined;
  readonly answer?: Side['answer'];
  readonly outcome?: Side['outcome'];
  readonly decisions: FirstOf<ComparedDecision>;
  readonly files: FirstOf<ComparedFile>;
  /** Why the files could not be compared. */
  readonly filesProblem?: string | undefined;
  readonly calls: { readonly total: number; readonly failed: number };
  /** The models that were asked, as `provider/model`. */
  readonly models: readonly string[];
  readonly usage: Side['usage'];
  /** Events that were not read: they are too many, or damaged. */
  readonly unread: number;
}

export interface Comparison {
  /** The newest seq that all branches share. 0 if they share nothing. */
  readonly common: number;
  /** One for each place, in the given order. */
  readonly branches: readonly ComparedBranch[];
}

const maxFirst = 50;
const maxText = 500;

const firstOf = <T>(all: readonly T[]): FirstOf<T> => ({
  first: all.slice(0, maxFirst),
  more: Math.max(0, all.length - maxFirst),
});

const decisionOf = ({ id, before, after }: StateDiff['decisions'][number]): ComparedDecision => {
  const { what, why } = (after ?? before)!;
  return {
    id,
    change: !before ? 'added' : after ? 'changed' : 'removed',
    what: shorten(what, maxText),
    why: shorten(why, maxText),
    ...(before && after && { was: shorten(before.what, maxText) }),
  };
};

const fileOf = ({ path, change, from }: FileDifference): ComparedFile => ({
  path,
  change,
  ...(from !== undefined && { from }),
});

const branchOf = ({ place, fold }: FoundPlace, result: SideResult): ComparedBranch => {
  const { answer, outcome, calls, models, usage, unread, state, files } = result;
  const title = fold.title ?? fold.firstWords;
  const ended = calls.filter(({ item }) => item.outcome !== 'ok' && item.outcome !== 'running');
  return {
    place,
    ...(title !== undefined && { title }),
    ...(answer && { answer }),
    ...(outcome && { outcome }),
    decisions: firstOf(state.decisions.map(decisionOf)),
    files: firstOf(files.files.map(fileOf)),
    ...(files.problem !== undefined && { filesProblem: files.problem }),
    calls: { total: calls.length, failed: ended.length },
    models: [...new Set(models.map(({ model }) => model))],
    usage,
    unread,
  };
};

/** The newest seq that the live lineages of all places share. */
const commonOf = async (scope: LogAccess, [first, ...others]: readonly FoundPlace[]): Promise<number> => {
  let common = first!.place.seq;
  for (const other of others) common = Math.min(common, await commonPoint(scope, first!, other));
  return common;
};

/** Compares what came of several branches since the point that all of them share. */
export const compareBranches = async (
  scope: LogAccess & FilesAccess,
  key: SessionKey,
  input: readonly DiffPlace[],
): Promise<Comparison> => {
  const places = parseInput('the branches', listOf(Place, { min: 2, max: maxCompared }), input);
  const found: FoundPlace[] = [];
  for (const place of places) found.push(await foldAtPlace(scope, key, place));
  const common = await commonOf(scope, found);
  const shared = common > 0 ? await scope.folds.at(keyOf(scope, found[0]!.place.session), common) : undefined;
  const branches: ComparedBranch[] = [];
  for (const place of found) branches.push(branchOf(place, await resultOf(scope, place, shared)));
  return { common, branches };
};
