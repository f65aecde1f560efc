import { z } from 'zod';
import { MemberId } from './ids.ts';
import { Text } from './json.ts';
import { memberRoles } from './member-roles.ts';
import { Reach } from './sharing.ts';

export const MemberRole = z.enum(memberRoles);
export type MemberRole = z.infer<typeof MemberRole>;

/** The description of a member that agents working for that member receive. */
export const Profile = z.strictObject({ name: Text.min(1).max(200).optional(), about: Text.max(2000).optional() });
export type Profile = z.infer<typeof Profile>;

export const Member = z
  .strictObject({
    id: MemberId,
    role: MemberRole,
    /** Which sessions the member reaches. Absent means those of the workspace. */
    reach: Reach.optional(),
    profile: Profile.optional(),
    addedAt: z.int(),
  })
  .meta({ id: 'Member' });
export type Member = z.infer<typeof Member>;

/** The role and profile of the member who sent an input, as they were at that time. */
export const Requester = z.strictObject({ role: MemberRole, profile: Profile.optional() });
export type Requester = z.infer<typeof Requester>;
