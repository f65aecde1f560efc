import { z } from 'zod';
import { HolderRole, holderName } from '../../../schema/handoff.ts';
import { MemberId, SessionId } from '../../../schema/ids.ts';
import { Holder } from '../../../schema/lifecycle.ts';
import { parseInput } from '../../../schema/parse-input.ts';
import { holders } from '../../../schema/statuses.ts';
import { choice, defineCommand, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';

interface Target {
  readonly to?: Holder | undefined;
  readonly member?: string | undefined;
  readonly role?: z.infer<typeof HolderRole> | undefined;
}

const checkTarget = ({ to, member, role }: Target): void => {
  const isNamed = member !== undefined || role !== undefined;
  if (to === undefined && !isNamed)
    throw wrongCall(
      `handoff needs --to ${holders.join(' or ')}, --member ID or --role ROLE: see \`perdure help handoff\``,
    );
  if (to === 'agent' && isNamed) throw wrongCall('--to agent takes no --member and no --role');
  if (member !== undefined && role !== undefined) throw wrongCall('choose --member or --role, not both');
};

export const handoff = defineCommand({
  name: 'handoff',
  summary: 'give a session to a person, or back to its agent',
  args: ['SESSION'],
  options: {
    to: choice('HOLDER', holders, `${holders.join(' or ')}`),
    member: text('ID', 'give it to this member; only they or an admin may act then'),
    role: choice('ROLE', HolderRole.options, 'give it to the members with at least this role'),
    reason: text('TEXT', 'why, for the log, the person and the model'),
  },
  notes: [
    'It needs --to, --member or --role.',
    'Back with the agent, the model is told who did what meanwhile, and the reason.',
  ],
  examples: [
    `perdure handoff ses_… --to human --reason 'let me look'`,
    `perdure handoff ses_… --role approver --reason 'above the limit'`,
    `perdure handoff ses_… --to agent --reason 'they agreed to 20 %'`,
  ],
  json: z.strictObject({
    session: SessionId,
    holder: Holder,
    member: MemberId.optional(),
    role: HolderRole.optional(),
  }),
  run: async (context, { args, options: { to, member: id, role, reason } }) => {
    checkTarget({ to, member: id, role });
    const member = id === undefined ? undefined : parseInput('--member', MemberId, id);
    const session = await context.session(args[0]!);
    const target = (member && { member }) ?? (role && { role }) ?? to ?? 'human';
    await session.handoff({ to: target, reason });
    const holder = to ?? 'human';
    const named = { ...(member && { member }), ...(role && { role }) };
    await context.answer({ session: session.id, holder, ...named }, () =>
      holder === 'agent' || !(member || role)
        ? `${session.id} is with the ${holder}`
        : `${session.id} is with ${holderName(named)}`,
    );
    if (holder === 'agent') await (await import('../../runs/carry-on.ts')).carryOn(context, session);
    return undefined;
  },
});
