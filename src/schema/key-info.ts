import { z } from 'zod';
import { Area } from './areas.ts';
import { listOf } from './bounded.ts';
import { KeyId, MemberId, SessionId } from './ids.ts';
import { Text } from './json.ts';
import { MemberRole } from './member.ts';
import { Reach } from './sharing.ts';

/** An API key without its secret. */
export const KeyInfo = z
  .strictObject({
    id: KeyId,
    member: MemberId,
    name: Text.min(1).max(200).optional(),
    /** The role of the key. The effective role is the lower of this role and the member's role. */
    role: MemberRole,
    /** The reach of the key. The effective reach is the lower of this one and the member's. Absent means `workspace`. */
    reach: Reach.optional(),
    /** The areas that the key is limited to. Absent means no limit. */
    areas: z.array(Area).min(1).readonly().optional(),
    expiresAt: z.int().positive().optional(),
    /** When the key was first rejected as expired. It stays expired, even if the clock goes back. */
    expiredAt: z.int().optional(),
    createdAt: z.int(),
    revokedAt: z.int().optional(),
    /** The key that a short-lived token was made with. Absent for an API key. */
    parent: KeyId.optional(),
    /** The only sessions that a token reaches. Absent means no such limit. */
    sessions: listOf(SessionId).optional(),
  })
  .meta({ id: 'Key' });
export type KeyInfo = z.infer<typeof KeyInfo>;
