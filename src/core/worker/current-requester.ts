import { type Actor, MemberId } from '../../schema/ids.ts';
import type { Requester } from '../../schema/member.ts';
import { isAtLeast, lowerRole } from '../../schema/member-roles.ts';
import type { RunFailure } from '../../schema/run-failure-catalog.ts';
import { memberStanding } from '../engine/member-standing.ts';
import type { RecordAccess } from '../engine/scope.ts';

/** The least role that may have a run, as for the verb `session.send`. */
const leastRole = 'member';

const notAllowed = (why: string): { readonly refusal: RunFailure } => ({
  refusal: {
    code: 'MEMBER_NOT_ALLOWED',
    message: `${why}: another member can send the input again, or an admin can restore the role`,
  },
});

/**
 * Reads the role of the member who requested a run again. Returns the requester with the lower of the two roles, or why
 * the run must end. Parties that are not members, and members whom the workspace never stored, keep what they had.
 */
export const currentRequester = async (
  { records, workspace }: Pick<RecordAccess, 'records' | 'workspace'>,
  by: Actor,
  from: Requester | undefined,
): Promise<{ readonly from: Requester | undefined } | { readonly refusal: RunFailure }> => {
  const member = by.startsWith('member:') ? MemberId.safeParse(by.slice('member:'.length)).data : undefined;
  if (member === undefined) return { from };
  const standing = await memberStanding(records, workspace, member);
  if (standing === 'unlisted') return { from };
  if (standing === 'removed') return notAllowed(`${member} was removed from ${workspace}`);
  if (!isAtLeast(standing, leastRole)) {
    return notAllowed(`${member} has the role ${standing} in ${workspace}, and a run needs at least ${leastRole}`);
  }
  return { from: from && { ...from, role: lowerRole(from.role, standing) } };
};
