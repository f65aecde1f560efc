import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { PerdureError } from '../../schema/error.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import { lowestProvenance, type PatchOperation, type Provenance, pointerOf, type State } from '../../schema/state.ts';
import type { Head, SessionKey } from '../ports/store.ts';
import { parseInput } from '../session/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
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

const entriesOf = (state: State): ReadonlySet<string> =>
  new Set(Object.entries(state).flatMap(([part, entries]) => Object.keys(entries).map((id) => pointerOf(part, id))));

interface Merge {
  readonly operations: readonly PatchOperation[];
  readonly adopted: readonly string[];
  readonly conflicts: readonly AdoptConflict[];
}

/** Entry by entry: what they changed and we did not is taken over. Counters of tools belong to the session that used them. */
export const mergeStates = (base: State, ours: State, theirs: State, prefer: 'ours' | 'theirs'): Merge => {
  const paths = [...entriesOf(base).union(entriesOf(theirs))].filter((path) => !path.startsWith('/toolsUsed/')).sort();
  const operations: PatchOperation[] = [];
  const adopted: string[] = [];
  const conflicts: AdoptConflict[] = [];
  for (const path of paths) {
    const [before, mine, other] = [base, ours, theirs].map((state) => valueAt(state, path) as Json | undefined);
    if (isDeepStrictEqual(before, other) || isDeepStrictEqual(mine, other)) continue;
    const isConflict = !isDeepStrictEqual(before, mine);
    if (isConflict) conflicts.push({ path, base: before, ours: mine, theirs: other });
    if (isConflict && prefer === 'ours') continue;
    adopted.push(path);
    if (other === undefined) operations.push({ op: 'remove', path });
    else operations.push({ op: mine === undefined ? 'add' : 'replace', path, value: other });
  }
  return { operations, adopted, conflicts };
};

const provenanceFor = (theirs: SessionFold, paths: readonly string[]): Provenance =>
  lowestProvenance(paths.map((path) => theirs.provenance[path] ?? 'human'));

/** Takes over what a branch of the same family changed in its state, as one commit, and reports where both had changed the same. */
export const adoptBranch = async (
  scope: Scope,
  key: SessionKey,
  branch: SessionId,
  { onConflict = 'ours', why }: AdoptOptions = {},
): Promise<Adoption> => {
  parseInput('onConflict', OnConflict, onConflict);
  const branchKey = keyOf(scope, branch);
  const shared = commonSeq(await lineOf(scope, key), await lineOf(scope, branchKey));
  if (shared === 0) {
    throw new PerdureError(
      'ADOPT_CONFLICT',
      `${branch} is no branch of the same tree: adopt a fork of this session or of its parent`,
      {
        details: { session: key.session, branch },
      },
    );
  }
  const [base, ours, theirs] = await Promise.all([
    scope.folds.at(key, shared),
    scope.folds.head(key),
    scope.folds.head(branchKey),
  ]);
  const merge = mergeStates(base.state, ours.state, theirs.state, onConflict === 'theirs' ? 'theirs' : 'ours');
  if (onConflict === 'fail' && merge.conflicts.length > 0) {
    const paths = merge.conflicts.map(({ path }) => path);
    throw new PerdureError('ADOPT_CONFLICT', `both branches changed ${paths.join(', ')}: choose ours or theirs`, {
      details: { conflicts: merge.conflicts },
    });
  }
  if (merge.operations.length === 0) return { adopted: [], conflicts: merge.conflicts };
  const [event] = await execute(scope, key, {
    type: 'commit',
    change: merge.operations,
    why: why ?? `adopts ${branch}`,
    by: 'member',
    provenance: provenanceFor(theirs, merge.adopted),
    origin: { kind: 'adopt', session: branch, seq: theirs.seq },
    agents: scope.agents,
  });
  return { ...(event && { commit: commitRecord(event as never) }), adopted: merge.adopted, conflicts: merge.conflicts };
};
