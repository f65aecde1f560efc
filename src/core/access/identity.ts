import { z } from 'zod';
import { Area } from '../../schema/areas.ts';
import { KeyId, MemberId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import { MemberRole, Profile } from '../../schema/member.ts';
import { Reach } from '../../schema/sharing.ts';

export const ParsedIdentity = z.strictObject({
  workspace: WorkspaceId,
  member: MemberId,
  role: MemberRole.default('member'),
  reach: Reach.default('workspace'),
  profile: Profile.optional(),
  key: KeyId.optional(),
  areas: z.array(Area).readonly().optional(),
  sessions: z.array(SessionId).readonly().optional(),
});

/** A caller, either named by the program or returned by `authenticate`. The default role is `member`. */
export interface Identity {
  readonly workspace: string;
  readonly member: string;
  readonly role?: MemberRole | undefined;
  /** Which sessions the caller reaches, by default those of the `workspace`. */
  readonly reach?: Reach | undefined;
  readonly profile?: Profile | undefined;
  /** The id of the API key that was used, and the areas that it is limited to. */
  readonly key?: string | undefined;
  readonly areas?: readonly Area[] | undefined;
  /** The only sessions that the caller reaches, if a token names them. */
  readonly sessions?: readonly string[] | undefined;
}
