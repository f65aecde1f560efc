import type { MemberId } from '../../schema/ids.ts';
import type { Visibility } from '../../schema/reaches.ts';
import type { SessionSummary } from '../../schema/summary.ts';

/** The part of a summary that says who owns and sees the session. */
export type SummaryOwnership = Pick<SessionSummary, 'owner' | 'visibility' | 'sharedWith'>;

/** The ownership of imported sessions: members of another store do not exist here. */
export const importedBy = (owner: MemberId): SummaryOwnership => ({
  owner,
  visibility: 'workspace' satisfies Visibility,
});

/** The summary with the ownership of another one. */
export const withOwnership = (
  { owner: _, visibility: __, sharedWith: ___, ...summary }: SessionSummary,
  { owner, visibility, sharedWith }: SummaryOwnership,
): SessionSummary => ({
  ...summary,
  ...(owner && { owner }),
  ...(visibility && { visibility }),
  ...(sharedWith && { sharedWith }),
});
