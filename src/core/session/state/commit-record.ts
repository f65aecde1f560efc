import type { SessionEvent } from '../../../schema/event.ts';
import { matchesPattern } from '../../../schema/path-pattern.ts';
import type { Said } from '../../../schema/said.ts';
import type { Provenance } from '../../../schema/state.ts';
import { entriesTouched, touchedPaths } from './touched-paths.ts';

type Committed = SessionEvent<'state.committed'>;

/** A commit as queries return it. */
export type CommitRecord = Pick<Committed, 'session' | 'seq' | 'turn' | 'at' | 'actor'> &
  Omit<Committed['payload'], 'said'> & {
    /** The message that asked for the call. Queries add its words. */
    readonly said?: Said | undefined;
    /** The paths of the entries that it changed. */
    readonly entries: readonly string[];
  };

export const commitRecord = ({ session, seq, turn, at, actor, payload }: Committed): CommitRecord => ({
  session,
  seq,
  turn,
  at,
  actor,
  ...payload,
  entries: payload.origin?.kind === 'lift' ? payload.origin.paths : entriesTouched(payload.delta),
});

/** Whether the commit touched a path that matches the pattern, with one of these provenances. */
export const isMatch = (commit: CommitRecord, pattern?: string, levels?: readonly Provenance[]): boolean =>
  touchedPaths(commit).some(
    ({ path, provenance }) =>
      (pattern === undefined || matchesPattern(pattern, path)) &&
      (!levels || (provenance !== undefined && levels.includes(provenance))),
  );

/** The conditions of a watch on commits. A commit must meet all of them. */
export interface CommitConditions {
  readonly path?: string | undefined;
  readonly provenance?: Provenance | readonly Provenance[] | undefined;
  readonly tool?: string | undefined;
  readonly actor?: string | undefined;
}

/** Whether a commit meets the conditions, as it would in a query. */
export const meetsAll = (commit: CommitRecord, { path, provenance, tool, actor }: CommitConditions): boolean =>
  (tool === undefined || commit.cause?.tool === tool) &&
  (actor === undefined || commit.actor === actor) &&
  isMatch(commit, path, typeof provenance === 'string' ? [provenance] : provenance);
