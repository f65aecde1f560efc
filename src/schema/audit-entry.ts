import { z } from 'zod';
import { AuditId, KeyId, MemberId } from './ids.ts';

/** One use of a privileged verb. Rejected uses are recorded too. */
export const AuditEntry = z
  .strictObject({
    id: AuditId,
    at: z.int(),
    member: MemberId,
    /** The API key that authenticated the caller. Absent for a program that uses the library directly. */
    key: KeyId.optional(),
    verb: z.string(),
    /** The name or id that the verb was applied to. */
    target: z.string().optional(),
    /** `asked` while the verb is in progress, then `done` or an error code. */
    outcome: z.string(),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;
