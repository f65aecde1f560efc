import type { Session } from '../../core/service/session.ts';
import { PerdureError } from '../../schema/error.ts';
import { ApprovalId } from '../../schema/ids.ts';
import { type Context, defineCommand, text } from '../command.ts';
import { carryOn } from '../runs/carry-on.ts';
import { openAsks } from '../runs/open-asks.ts';
import { wrongCall } from '../wrong-call.ts';

const sessionOption = { session: text('SESSION', 'where it was asked; looked for without it') };

const parseApproval = (named: string): ApprovalId => {
  const parsed = ApprovalId.safeParse(named);
  if (parsed.success) return parsed.data;
  throw wrongCall(`"${named}" is not an approval: \`perdure approvals\` lists those that are open`);
};

/** An approval that is not open any more is found only in the session that is named. */
const sessionOf = async (context: Context, id: ApprovalId, named: string | undefined): Promise<Session> => {
  if (named !== undefined) return context.session(named);
  const sessions = await context.sessions();
  for await (const { session, approvals } of openAsks(sessions)) {
    if (approvals.some(({ approval }) => approval === id)) return sessions.get(session);
  }
  throw new PerdureError(
    'APPROVAL_NOT_FOUND',
    `${id} is not open in the sessions that changed last: \`perdure approvals\` lists those that are, --session names another`,
    { details: { approval: id } },
  );
};

const settle = async (
  context: Context,
  named: { readonly id: string; readonly session: string | undefined },
  answer: 'approved' | 'denied',
  apply: (session: Session, id: ApprovalId) => Promise<void>,
): Promise<void> => {
  const id = parseApproval(named.id);
  const session = await sessionOf(context, id, named.session);
  await apply(session, id);
  await context.answer({ session: session.id, approval: id, answer }, () => `${id} is ${answer}`);
  await carryOn(context, session);
};

export const approve = defineCommand({
  name: 'approve',
  summary: 'let a call that waits for an approval run',
  args: ['APPROVAL'],
  options: sessionOption,
  examples: ['perdure approve apr_…'],
  run: async (context, { args: [id], options: { session } }) => {
    await settle(context, { id: id!, session }, 'approved', (found, approval) => found.approve(approval));
    return undefined;
  },
});

export const deny = defineCommand({
  name: 'deny',
  summary: 'refuse a call that waits for an approval; the model is told why',
  args: ['APPROVAL'],
  options: { ...sessionOption, reason: text('TEXT', 'why, for the model and the log; needed') },
  examples: [`perdure deny apr_… --reason 'not on a Friday'`],
  run: async (context, { args: [id], options: { session, reason } }) => {
    if (!reason) throw wrongCall('deny needs --reason TEXT: the model is told why');
    await settle(context, { id: id!, session }, 'denied', (found, approval) => found.deny(approval, reason));
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
