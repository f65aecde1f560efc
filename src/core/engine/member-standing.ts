import { PerdureError } from '../../schema/error.ts';
import type { MemberId, WorkspaceId } from '../../schema/ids.ts';
import { Member, type MemberRole } from '../../schema/member.ts';
import type { Records } from '../ports/records.ts';
import type { RecordAccess } from './scope.ts';

/**
 * The current role of a member. `removed` if the member was removed, and `unlisted` if the workspace never stored the
 * member: a program may act as its own users without adding them.
 */
export type MemberStanding = MemberRole | 'removed' | 'unlisted';

export const memberStanding = async (
  records: Records,
  workspace: WorkspaceId,
  id: MemberId,
): Promise<MemberStanding> => {
  const [found, removed] = await Promise.all([
    records.record(workspace, 'member', id),
    records.record(workspace, 'removed-member', id),
  ]);
  if (found) return Member.parse(found.body).role;
  return removed ? 'removed' : 'unlisted';
};

/**
 * Throws if this member could not act as the holder of a session. A workspace that stores members knows all of them; a
 * workspace without any trusts the program.
 */
export const refuseUnableHolder = async (
  { records, workspace }: Pick<RecordAccess, 'records' | 'workspace'>,
  member: MemberId,
): Promise<void> => {
  const standing = await memberStanding(records, workspace, member);
  const details = { workspace, member };
  if (standing === 'viewer') {
    throw new PerdureError(
      'INVALID_INPUT',
      `${member} is a viewer of ${workspace} and could not act: hand the session to a member with a higher role`,
      { details },
    );
  }
  const isUnknown = standing === 'unlisted' && (await records.records(workspace, 'member', { limit: 1 })).length > 0;
  if (standing !== 'removed' && !isUnknown) return;
  throw new PerdureError(
    'MEMBER_NOT_FOUND',
    `${workspace} has no member ${member}: hand the session to one that \`perdure members ls\` lists, or to a role`,
    { details },
  );
};
