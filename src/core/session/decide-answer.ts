import { PerdureError } from '../../schema/error.ts';
import type { Actor, ApprovalId } from '../../schema/ids.ts';
import type { MemberRole } from '../../schema/member.ts';
import { isAtLeast } from '../../schema/member-roles.ts';
import type { Decision } from './decision.ts';
import type { SessionFold } from './fold.ts';
import { recentContributors } from './runs/contributors.ts';
import type { ApprovalState } from './runs/run-fold.ts';

/** A person's answer to an approval or a question of a run. */
export type AnswerCommand =
  | {
      readonly type: 'answer';
      readonly approval: ApprovalId;
      readonly answer: 'approved' | 'denied';
      /** What the person says about the answer, for the model and the log. */
      readonly comment?: string | undefined;
      /** Whether the tool may also run later, while the taint comes from the sources that the approval names. */
      readonly forSource?: true | undefined;
      /** The role of the member who answers. */
      readonly role: MemberRole;
      /** The members who contributed to the session's caller or subagents since the previous run ended. */
      readonly relatives: readonly Actor[];
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

/** The roles that may answer an approval which names none. */
export const defaultRoles: readonly MemberRole[] = ['approver', 'admin'];

/** Only an approver may allow further calls, even if the approval itself accepts other roles. */
const refuseForSource = ({ id, taintedBy, prepares }: ApprovalState, role: MemberRole): void => {
  if (!taintedBy || prepares) {
    throw new PerdureError('INVALID_INPUT', `${id} names no source of a taint: approve it without forSource`, {
      details: { approval: id },
    });
  }
  if (!isAtLeast(role, 'approver')) throw forbidden(id, 'to allow further calls requires the role approver or admin');
};

/**
 * The members who asked for the calls of a run: the requester, everybody whose words, files or edits entered the
 * session since the previous run ended, and the senders of inputs that wait to steer the run.
 */
export const askersOf = ({ run, queue, contributors }: SessionFold): readonly Actor[] => [
  ...(run ? [run.requestedBy] : []),
  ...recentContributors(contributors),
  ...queue.flatMap(({ policy, by }) => (policy === 'steer' ? [by] : [])),
];

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
  const { approval, answer, comment, forSource, role, relatives, now } = command;
  const open = fold.approvals[approval];
  if (!open) throw notOpen(approval);
  if (open.settled) {
    if (open.settled.answer === answer && open.settled.by === actor) return { drafts: [], command: 'commit' };
    throw settledAlready(approval, `was ${open.settled.answer} by ${open.settled.by}`);
  }
  if (open.expiresAt !== undefined && open.expiresAt <= now) throw settledAlready(approval, 'has expired');
  const roles: readonly string[] = open.roles ?? defaultRoles;
  if (!roles.includes(role)) throw forbidden(approval, `it requires the role ${roles.join(' or ')}`);
  if (open.notRequester && [open.requestedBy, ...askersOf(fold), ...relatives].includes(actor)) {
    const why = 'you asked for it, or your words, files or edits came before it: another person must answer it';
    throw forbidden(approval, why);
  }
  if (forSource) refuseForSource(open, role);
  return {
    drafts: [{ type: 'approval.settled', payload: { approval, answer, comment, forSource }, ...common }],
    command: 'commit',
  };
};
