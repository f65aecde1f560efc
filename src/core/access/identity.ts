import { z } from 'zod';
import { Area } from '../../schema/areas.ts';
import { KeyId, MemberId, WorkspaceId } from '../../schema/ids.ts';
import { MemberRole, Profile } from '../../schema/member.ts';

export const ParsedIdentity = z.strictObject({
  workspace: WorkspaceId,
  member: MemberId,
  role: MemberRole.default('member'),
  profile: Profile.optional(),
  key: KeyId.optional(),
  areas: z.array(Area).readonly().optional(),
});

/** Who somebody is, which is for the caller to know, or for `authenticate`. Without a role: `member`. */
export interface Identity {
  readonly workspace: string;
  readonly member: string;
  readonly role?: MemberRole | undefined;
  readonly profile?: Profile | undefined;
  /** The id of the key by which they came, and what it is limited to. */
  readonly key?: string | undefined;
  readonly areas?: readonly Area[] | undefined;
}
