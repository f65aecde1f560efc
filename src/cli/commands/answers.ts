import type { Approvals } from '../../core/service/approvals.ts';
import { ApprovalId, type SessionId } from '../../schema/ids.ts';
import { type Context, defineCommand, text } from '../command.ts';
import { carryOn } from '../runs/carry-on.ts';
import { wrongCall } from '../wrong-call.ts';

const parseApproval = (named: string): ApprovalId => {
  const parsed = ApprovalId.safeParse(named);
  if (parsed.success) return parsed.data;
  throw wrongCall(`"${named}" is not an approval: \`perdure approvals\` lists those that are open`);
};

const settle = async (
  context: Context,
  named: string,
  answer: 'approved' | 'denied',
  give: (approvals: Approvals, id: ApprovalId) => Promise<SessionId>,
): Promise<void> => {
  const id = parseApproval(named);
  const session = await context.session(await give((await context.runtime()).approvals, id));
  await context.answer({ session: session.id, approval: id, answer }, () => `${id} is ${answer}`);
  await carryOn(context, session);
};

export const approve = defineCommand({
  name: 'approve',
  summary: 'let a call that waits for an approval run',
  args: ['APPROVAL'],
  options: {},
  examples: ['perdure approve apr_…'],
  run: async (context, { args: [id] }) => {
    await settle(context, id!, 'approved', (approvals, approval) => approvals.approve(approval));
    return undefined;
  },
});

export const deny = defineCommand({
  name: 'deny',
  summary: 'refuse a call that waits for an approval; the model is told why',
  args: ['APPROVAL'],
  options: { reason: text('TEXT', 'why, for the model and the log; needed') },
  examples: [`perdure deny apr_… --reason 'not on a Friday'`],
  run: async (context, { args: [id], options: { reason } }) => {
    if (!reason) throw wrongCall('deny needs --reason TEXT: the model is told why');
    await settle(context, id!, 'denied', (approvals, approval) => approvals.deny(approval, reason));
    return undefined;
  },
});

export const answer = defineCommand({
  name: 'answer',
  summary: 'answer what an agent asked',
  args: ['SESSION', 'CALL', 'TEXT'],
  options: {},
  notes: ['`perdure approvals` shows the call of each question.'],
  examples: [`perdure answer ses_… call_… 'Port 8080'`],
  run: async (context, { args: [named, call, words] }) => {
    if (words!.trim() === '') throw wrongCall('the answer is empty');
    const session = await context.session(named!);
    await session.answer(call!, words!);
    await context.answer({ session: session.id, call }, () => `${session.id} has its answer`);
    await carryOn(context, session);
    return undefined;
  },
});
