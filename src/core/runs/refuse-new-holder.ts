import { PerdureError } from '../../schema/error.ts';
import type { MemberId } from '../../schema/ids.ts';
import { Member } from '../../schema/member.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import type { Reach } from '../../schema/reaches.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { refuseUnableHolder } from '../engine/member-standing.ts';
import type { Caller, RecordAccess } from '../engine/scope.ts';
import { isSeenBy, viewersOf } from '../ports/viewers.ts';

type HandoffAccess = Pick<RecordAccess, 'records' | 'workspace'> & { readonly caller: Caller };

const reachOf = async ({ records, workspace, caller }: HandoffAccess, member: MemberId): Promise<Reach> => {
  if (member === caller.member) return caller.reach;
  const found = await records.record(workspace, 'member', member);
  return (found && Member.parse(found.body).reach) ?? 'workspace';
};

const refusal = ({ id }: SessionSummary, { member, reach }: Caller, target: MemberId): PerdureError =>
  new PerdureError(
    'FORBIDDEN',
    reach === 'own'
      ? `${member} may not hand ${id} to ${target}, with whom it is not shared: hand it to a role, or ask its owner to share it first`
      : `${member} may not hand ${id} to ${target}, who does not see it: ask its owner or an admin to do it`,
    { details: { verb: 'session.handoff', session: id } },
  );

/**
 * Throws if the caller may not hand the session to this member. The holder sees the session, so only its owner and
 * admins hand it to a member who does not see it yet. A caller of the reach `own` learns nothing about who is a member:
 * the session's own list alone decides.
 */
export const refuseNewHolder = async (
  scope: HandoffAccess,
  summary: SessionSummary,
  target: MemberId,
): Promise<void> => {
  const { caller } = scope;
  if (caller.reach === 'own') {
    if (viewersOf(summary).includes(target)) return;
    throw refusal(summary, caller, target);
  }
  if (target !== caller.member) await refuseUnableHolder(scope, target);
  if (summary.owner === caller.member || isAtLeast(caller.role, 'admin')) return;
  if (isSeenBy(summary, { member: target, reach: await reachOf(scope, target) })) return;
  throw refusal(summary, caller, target);
};
