import type { SessionEvent } from '../../../schema/event.ts';
import { matchesPattern } from '../../../schema/path-pattern.ts';
import type { Provenance } from '../../../schema/state.ts';
import { entriesTouched, touchedPaths } from './touched-paths.ts';

type Committed = SessionEvent<'state.committed'>;

/** A change of the state: when, in which turn, by whom or what, and what changed. */
export type CommitRecord = Pick<Committed, 'session' | 'seq' | 'turn' | 'at' | 'actor'> &
  Committed['payload'] & {
    /** The entries it changed. */
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

/** Whether it touched what the pattern names, at one of these levels. */
export const isMatch = (commit: CommitRecord, pattern?: string, levels?: readonly Provenance[]): boolean =>
  touchedPaths(commit).some(
    ({ path, provenance }) =>
      (pattern === undefined || matchesPattern(pattern, path)) && (!levels || levels.includes(provenance)),
  );
