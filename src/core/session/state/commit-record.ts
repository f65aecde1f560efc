import type { SessionEvent } from '../../../schema/event.ts';
import { matchesPattern } from '../../../schema/path-pattern.ts';
import type { Provenance } from '../../../schema/state.ts';
import { entriesTouched, touchedPaths } from './touched-paths.ts';

type Committed = SessionEvent<'state.committed'>;

/** A commit as queries return it. */
export type CommitRecord = Pick<Committed, 'session' | 'seq' | 'turn' | 'at' | 'actor'> &
  Committed['payload'] & {
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
      (pattern === undefined || matchesPattern(pattern, path)) && (!levels || levels.includes(provenance)),
  );
