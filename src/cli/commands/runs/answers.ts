import { z } from 'zod';
import type { Approvals } from '../../../core/runs/approvals.ts';
import type { Session } from '../../../core/runtime/session.ts';
import { ApprovalId, SessionId } from '../../../schema/ids.ts';
import { findId } from '../../names/find-id.ts';
import { type Context, defineCommand, flag, text } from '../../parse/command.ts';
import { wrongCall } from '../../parse/wrong-call.ts';
import { listings } from '../../render/listings.ts';
import { readRuns } from '../../runs/read-runs.ts';

const Settled = z.strictObject({
  session: SessionId,
  approval: ApprovalId,
  answer: z.enum(['approved', 'denied']),
});

const findApproval = (context: Context, named: string): Promise<ApprovalId> =>
  findId(
    {
      noun: 'approval',
      prefix: 'apr_',
      isWhole: (text) => ApprovalId.safeParse(text).success,
      notFound: 'APPROVAL_NOT_FOUND',
      listing: 'perdure approvals',
      among: () => listings.approvals(context),
    },
    named,
  );

/**
 * Finds an open question by a unique prefix or suffix of its call id. Call ids are chosen by models, so they have no
 * fixed form.
 */
const findQuestion = async (session: Session, named: string): Promise<string> => {
  const { questions } = (await readRuns(session)).view;
  const fitting = questions.filter(({ callId }) => callId.startsWith(named) || callId.endsWith(named));
  return fitting.length === 1 ? fitting[0]!.callId : named;
};

const settle = async (
  context: Context,
  named: string,
  answer: 'approved' | 'denied',
  give: (approvals: Approvals, id: ApprovalId) => Promise<SessionId>,
): Promise<void> => {
  const id = await findApproval(context, named);
  const session = await context.session(await give((await context.runtime()).approvals, id));
  await context.answer({ session: session.id, approval: id, answer }, () => `${id} is ${answer}`);
  await (await import('../../runs/carry-on.ts')).carryOn(context, session);
};

export const approve = defineCommand({
  name: 'approve',
  summary: 'allow a call that is waiting for approval',
  args: ['APPROVAL'],
  options: {
    comment: text('TEXT', 'what the model and the log are told about it'),
    'for-source': flag('also allow later calls of this tool, while the taint comes from the same sources'),
  },
  notes: [
    'With --for-source, a tainted call asks again only once another tool brings data from outside into the session.',
  ],
  examples: ['perdure approve apr_…', `perdure approve apr_… --comment 'this once'`],
  json: Settled,
  run: async (context, { args: [id], options: { comment, 'for-source': forSource } }) => {
    const options = { comment, ...(forSource && { forSource }) };
    await settle(context, id!, 'approved', (approvals, approval) => approvals.approve(approval, options));
    return undefined;
  },
});

export const deny = defineCommand({
  name: 'deny',
  summary: 'refuse a call that is waiting for approval; the model is told why',
  args: ['APPROVAL'],
  options: { comment: text('TEXT', 'why, for the model and the log; required') },
  examples: [`perdure deny apr_… --comment 'not on a Friday'`],
  json: Settled,
  run: async (context, { args: [id], options: { comment } }) => {
    if (!comment) throw wrongCall('deny needs --comment TEXT: the model is told why');
    await settle(context, id!, 'denied', (approvals, approval) => approvals.deny(approval, { comment }));
    return undefined;
  },
});

export const answer = defineCommand({
  name: 'answer',
  summary: 'answer a question from an agent',
  args: ['SESSION', 'CALL', 'TEXT'],
  options: {},
  notes: ['`perdure approvals` shows the call of each question.'],
  examples: [`perdure answer ses_… call_… 'Port 8080'`],
  json: z.strictObject({ session: SessionId, call: z.string() }),
  run: async (context, { args: [named, call, words] }) => {
    if (words!.trim() === '') throw wrongCall('the answer is empty');
    const session = await context.session(named!);
    const question = await findQuestion(session, call!);
    await session.answer(question, words!);
    await context.answer({ session: session.id, call: question }, () => `${session.id} has its answer`);
    await (await import('../../runs/carry-on.ts')).carryOn(context, session);
    return undefined;
  },
});
