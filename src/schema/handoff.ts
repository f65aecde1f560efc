import { z } from 'zod';
import { Actor, MemberId } from './ids.ts';
import { Text } from './json.ts';
import { Holder } from './lifecycle.ts';
import { MemberRole } from './member.ts';

/** The roles that a session can be handed to. A viewer could not act. */
export const HolderRole = MemberRole.exclude(['viewer']);

/**
 * The new holder of a session: its agent, any person (`human`), one member, or any member with at least this role.
 */
export const HandoffTarget = z.union([
  Holder,
  z.strictObject({ member: MemberId }),
  z.strictObject({ role: HolderRole }),
]);
export type HandoffTarget = z.infer<typeof HandoffTarget>;

/** The maximum length of a reason in a summary, which the store writes with every append. */
export const shownReasonChars = 200;

/** A handoff to a person, as listings show it. Present while a person holds the session. */
export const ShownHandoff = z
  .strictObject({
    by: Actor,
    at: z.int(),
    member: MemberId.optional(),
    role: HolderRole.optional(),
    /** Why, clipped to 200 characters. */
    reason: Text.optional(),
  })
  .meta({ id: 'Handoff' });
export type ShownHandoff = z.infer<typeof ShownHandoff>;

/** The person or people who hold a session, as one word: `member:ann`, `role:approver` or `human`. */
export const holderName = ({ member, role }: Pick<ShownHandoff, 'member' | 'role'> = {}): string => {
  if (member !== undefined) return `member:${member}`;
  return role === undefined ? 'human' : `role:${role}`;
};
