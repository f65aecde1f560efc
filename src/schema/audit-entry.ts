import { z } from 'zod';
import { AuditId, KeyId, MemberId } from './ids.ts';

/** One use of a privileged verb, also one that was refused. */
export const AuditEntry = z
  .strictObject({
    id: AuditId,
    at: z.int(),
    member: MemberId,
    /** By which it was asked. */
    key: KeyId.optional(),
    verb: z.string(),
    /** What it was asked of, by name or id. */
    target: z.string().optional(),
    /** `asked` until it is over, then `done` or the code of the error. */
    outcome: z.string(),
  })
  .meta({ id: 'AuditEntry' });
export type AuditEntry = z.infer<typeof AuditEntry>;
