import { z } from 'zod';
import { Area } from './areas.ts';
import { KeyId, MemberId } from './ids.ts';
import { Text } from './json.ts';
import { MemberRole } from './member.ts';

/** An API key without its secret. */
export const KeyInfo = z
  .strictObject({
    id: KeyId,
    member: MemberId,
    name: Text.min(1).max(200).optional(),
    /** The role of the key. The effective role is the lower of this role and the member's role. */
    role: MemberRole,
    /** The areas that the key is limited to. Absent means no limit. */
    areas: z.array(Area).min(1).readonly().optional(),
    expiresAt: z.int().positive().optional(),
    createdAt: z.int(),
    revokedAt: z.int().optional(),
  })
  .meta({ id: 'Key' });
export type KeyInfo = z.infer<typeof KeyInfo>;
