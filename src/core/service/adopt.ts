import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { type PatchOperation, type Provenance, pointerOf, type State } from '../../schema/state.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import type { CommitCommand } from '../session/decide-commit.ts';
import { parseInput } from '../session/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { isSameJson } from '../session/patch-between.ts';
import { valueAt } from '../session/state-change.ts';
import { type CommitRecord, commitRecord } from './commits.ts';
import { execute } from './execute.ts';
import { keyOf, type Scope } from './scope.ts';
import { sessionNotFound } from './session-folds.ts';

/** An entry that both sides changed, each in its own way. */
export interface AdoptConflict {
  readonly path: string;
  readonly base?: Json | undefined;
  readonly ours?: Json | undefined;
  readonly theirs?: Json | undefined;
}

export interface Adoption {
  /** Undefined when the branch had nothing new. */
  readonly commit?: CommitRecord | undefined;
  readonly adopted: readonly string[];
  readonly conflicts: readonly AdoptConflict[];
}

const OnConflict = z.enum(['ours', 'theirs', 'fail']);

export interface AdoptOptions {
  /** What becomes of entries that both changed: ours stay (the default), theirs replace them, or nothing is adopted at all. */
  readonly onConflict?: 'ours' | 'theirs' | 'fail' | undefined;
  readonly why?: string | undefined;
}

const lineOf = async (scope: Scope, key: SessionKey): Promise<readonly Head[]> => {
  const line: Head[] = [];
  for (let next: SessionId | undefined = key.session; next; next = line.at(-1)!.parent?.session) {
    const head: Head | undefined = await scope.store.head(keyOf(scope, next));
    if (!head) throw sessionNotFound(keyOf(scope, next));
    line.push(head);
  }
  return line;
};

/** How much of the sequence two sessions share. */
const commonSeq = (ours: readonly Head[], theirs: readonly Head[]): number => {
  const reach = new Map<SessionId, number>();
  let seq = Number.POSITIVE_INFINITY;
  for (const head of ours) {
    reach.set(head.session, Math.min(seq, head.seq));
    seq = Math.min(seq, head.parent?.seq ?? 0);
  }
  seq = Number.POSITIVE_INFINITY;
  for (const head of theirs) {
    const shared = reach.get(head.session);
    if (shared !== undefined) return Math.min(shared, seq, head.seq);
    seq = Math.min(seq, head.parent?.seq ?? 0);
  }
  return 0;
};

const entriesOf = (state: State): readonly string[] =>
  Object.entries(state).flatMap(([part, entries]) => Object.keys(entries).map((id) => pointerOf(part, id)));

/** Where two sessions were one: where they parted, and how both stood after the newest adoption. */
interface Bases {
  readonly parted: State;
  readonly adoption?: { readonly ours: State; readonly theirs: State } | undefined;
}

/** An entry as both last had it. */
const baseOf = ({ parted, adoption }: Bases, path: string): Json | undefined => {
  const theirs = adoption && valueAt(adoption.theirs, path);
  const wasShared = adoption && isSameJson(valueAt(adoption.ours, path), theirs);
  return (wasShared ? theirs : valueAt(parted, path)) as Json | undefined;
};

interface Merge {
  readonly operations: readonly PatchOperation[];
  readonly adopted: readonly string[];
  readonly conflicts: readonly AdoptConflict[];
}

/** Entry by entry: what they changed and we did not is taken over. Counters of tools belong to the session that used them. */
const mergeStates = (bases: Bases, ours: State, theirs: State, prefer: 'ours' | 'theirs'): Merge => {
  const known = [bases.parted, bases.adoption?.theirs ?? theirs, theirs].flatMap(entriesOf);
  const paths = [...new Set(known)].filter((path) => !path.startsWith('/toolsUsed/')).sort();
  const operations: PatchOperation[] = [];
  const adopted: string[] = [];
  const conflicts: AdoptConflict[] = [];
  for (const path of paths) {
    const base = baseOf(bases, path);
    const [mine, other] = [ours, theirs].map((state) => valueAt(state, path) as Json | undefined);
    if (isSameJson(base, other) || isSameJson(mine, other)) continue;
    const isConflict = !isSameJson(base, mine);
    if (isConflict) conflicts.push({ path, base, ours: mine, theirs: other });
    if (isConflict && prefer === 'ours') continue;
    adopted.push(path);
    if (other === undefined) operations.push({ op: 'remove', path });
    else operations.push({ op: mine === undefined ? 'add' : 'replace', path, value: other });
  }
  return { operations, adopted, conflicts };
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

/** Takes over what a branch of the same family changed in its state, as one commit, and reports where both had changed the same. */
export const adoptBranch = async (
  scope: Scope,
  key: SessionKey,
  branch: SessionId,
  { onConflict = 'ours', why = `adopts ${branch}` }: AdoptOptions = {},
): Promise<Adoption> => {
  parseInput('onConflict', OnConflict, onConflict);
  const branchKey = keyOf(scope, branch);
  const shared = commonSeq(await lineOf(scope, key), await lineOf(scope, branchKey));
  if (shared === 0) throw noBranch(key, branch);
  const { state: parted } = await scope.folds.at(key, shared);
  let merge: Merge = { operations: [], adopted: [], conflicts: [] };
  const [event] = await execute(scope, key, async (ours): Promise<CommitCommand | undefined> => {
    const theirs = await scope.folds.head(branchKey);
    const newest = ours.adopted[branch];
    const adoption = newest && {
      ours: (await scope.folds.at(key, newest.at)).state,
      theirs: (await scope.folds.at(branchKey, newest.theirs)).state,
    };
    merge = mergeStates({ parted, adoption }, ours.state, theirs.state, onConflict === 'theirs' ? 'theirs' : 'ours');
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
