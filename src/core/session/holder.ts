import { PerdureError } from '../../schema/error.ts';
import { holderName } from '../../schema/handoff.ts';
import type { MemberId } from '../../schema/ids.ts';
import type { MemberRole } from '../../schema/member.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import type { SessionCommand } from './decide.ts';
import type { SessionFold } from './fold.ts';

/** The member who acts, and their role. */
interface ActingMember {
  readonly member: MemberId;
  readonly role: MemberRole;
}

/**
 * Throws if another person holds the session. A session that was handed to a member or a role accepts acts of a holder
 * only from that member, from members with at least that role, and from admins.
 */
export const refuseUnlessHolder = (
  fold: Pick<SessionFold, 'session' | 'holder' | 'handoff'>,
  { member, role }: ActingMember,
  act: string,
): void => {
  const { holder, handoff, session } = fold;
  if (holder !== 'human' || !handoff || role === 'admin') return;
  if (handoff.member !== undefined ? handoff.member === member : !handoff.role || isAtLeast(role, handoff.role)) return;
  const name = holderName(handoff);
  throw new PerdureError(
    'SESSION_HELD',
    `${member} may not ${act} while ${session} is with ${name}: ask ${name} or an admin to do it, or to hand it on`,
    { details: { session, holder: name } },
  );
};

/** The commands that only the holder may give, as an error message names them. */
const actsOfHolder: Partial<Readonly<Record<SessionCommand['type'], string>>> = {
  append: 'append messages',
  commit: 'change the state',
  files: 'change files',
  keep: 'keep artifacts',
  compact: 'compact the context',
  bind: 'bind an agent',
  rewind: 'rewind',
  retry: 'retry a turn',
  close: 'close it',
};

/** The act of a holder that a command is. Undefined if people who do not hold the session may give it too. */
export const actOfHolder = (command: SessionCommand): string | undefined =>
  command.type === 'answer' && 'question' in command ? 'answer a question' : actsOfHolder[command.type];
