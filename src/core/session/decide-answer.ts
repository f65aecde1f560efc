import { PerdureError } from '../../schema/error.ts';
import type { Actor, ApprovalId } from '../../schema/ids.ts';
import type { MemberRole } from '../../schema/member.ts';
import type { Decision } from './decision.ts';
import type { SessionFold } from './fold.ts';

/** A person's answer to an approval or a question of a run. */
export type AnswerCommand =
  | {
      readonly type: 'answer';
      readonly approval: ApprovalId;
      readonly answer: 'approved' | 'denied';
      /** What the person says about the answer, for the model and the log. */
      readonly comment?: string | undefined;
      /** The role of the member who answers. */
      readonly role: MemberRole;
      readonly now: number;
    }
  | { readonly type: 'answer'; readonly question: string; readonly text: string };

const notOpen = (what: string): PerdureError =>
  new PerdureError(
    'APPROVAL_NOT_FOUND',
    `${what} is not open in this session: \`perdure approvals\` lists those that are`,
    {
      details: { id: what },
    },
  );

export const settledAlready = (approval: ApprovalId, how: string): PerdureError =>
  new PerdureError('APPROVAL_SETTLED', `${approval} ${how} already: an approval is answered only once`, {
    details: { approval },
  });

const forbidden = (approval: ApprovalId, why: string): PerdureError =>
  new PerdureError('APPROVAL_FORBIDDEN', `you may not answer ${approval}: ${why}`, { details: { approval } });

const defaultRoles: readonly MemberRole[] = ['approver', 'admin'];

/** Whether the actor requested or steered the run, or sent an input that waits to steer it. */
const hasAsked = ({ run, queue }: SessionFold, requestedBy: Actor, actor: Actor): boolean =>
  [
    requestedBy,
    ...(run?.steeredBy ?? []),
    ...queue.flatMap(({ policy, by }) => (policy === 'steer' ? [by] : [])),
  ].includes(actor);

/**
 * Decides an answer to an approval or a question. Repeating the same answer by the same person succeeds and writes
 * nothing.
 */
export const decideAnswer = (fold: SessionFold, command: AnswerCommand, actor: Actor): Decision => {
  const common = { actor, turn: fold.turn, run: fold.run?.id };
  if ('question' in command) {
    const asked = fold.questions[command.question];
    if (!asked || asked.answer !== undefined) throw notOpen(command.question);
    const payload = { callId: command.question, answer: command.text };
    return { drafts: [{ type: 'question.answered', payload, ...common }], command: 'commit' };
  }
  const { approval, answer, comment, role, now } = command;
  const open = fold.approvals[approval];
  if (!open) throw notOpen(approval);
  if (open.settled) {
    if (open.settled.answer === answer && open.settled.by === actor) return { drafts: [], command: 'commit' };
    throw settledAlready(approval, `was ${open.settled.answer} by ${open.settled.by}`);
  }
  if (open.expiresAt !== undefined && open.expiresAt <= now) throw settledAlready(approval, 'has expired');
  const roles: readonly string[] = open.roles ?? defaultRoles;
  if (!roles.includes(role)) throw forbidden(approval, `it requires the role ${roles.join(' or ')}`);
  if (open.notRequester && hasAsked(fold, open.requestedBy, actor))
    throw forbidden(approval, 'the request is your own, and another person must answer it');
  return {
    drafts: [{ type: 'approval.settled', payload: { approval, answer, comment }, ...common }],
    command: 'commit',
  };
};
