import { z } from 'zod';
import { Area } from './areas.ts';
import { KeyId, MemberId } from './ids.ts';
import { Text } from './json.ts';
import { MemberRole } from './member.ts';

/** All of a key but its secret. */
export const KeyInfo = z
  .strictObject({
    id: KeyId,
    member: MemberId,
    name: Text.min(1).max(200).optional(),
    /** In effect is the lower of this and the member's. */
    role: MemberRole,
    /** What it is limited to; without them, nothing. */
    areas: z.array(Area).min(1).readonly().optional(),
    expiresAt: z.int().positive().optional(),
    createdAt: z.int(),
    revokedAt: z.int().optional(),
  })
  .meta({ id: 'Key' });
export type KeyInfo = z.infer<typeof KeyInfo>;
