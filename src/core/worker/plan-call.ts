import { isPerdureError } from '../../schema/error.ts';
import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import { HandoffTarget } from '../../schema/handoff.ts';
import type { EarlierCall } from '../../schema/happened.ts';
import { newId, systemActor } from '../../schema/ids.ts';
import type { ResultSource } from '../../schema/message.ts';
import { refuseUnableHolder } from '../engine/member-standing.ts';
import { earlierCallText, findRepeat, loggedRepeat } from '../engine/repeated-call.ts';
import type { ToolHandoff } from '../ports/tool.ts';
import { shorten } from '../session/context/clip.ts';
import type { Call } from '../session/events/call-events.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { type CallEnd, failedEnd } from '../session/runs/call-end.ts';
import { handoffReport } from '../session/runs/handoff-report.ts';
import { approvalOf } from '../session/runs/next-step.ts';
import type { ApprovalState } from '../session/runs/run-fold.ts';
import { type HeldCall, heldByTaint, heldText } from '../session/runs/taint-gate.ts';
import { agentActor, type RunContext } from './run-context.ts';
import type { ReadyCall } from './run-tool.ts';

/** The next action for a call: run it, end it immediately, ask a person, or hand the session to a person. */
export type Plan =
  | { readonly do: 'run'; readonly call: ReadyCall }
  | { readonly do: 'end'; readonly end: CallEnd; readonly also?: EventDraft }
  | { readonly do: 'ask'; readonly draft: EventDraft }
  | { readonly do: 'hand-over'; readonly to: PayloadOf<'session.handed'> };

const namesOf = (tools: RunContext['tools']): string => [...tools.keys()].join(', ') || 'none';

export const checked = ({ tools }: RunContext, call: Call): Plan => {
  const tool = tools.get(call.tool);
  if (!tool) {
    const message = `there is no tool ${call.tool}; available: ${namesOf(tools)}`;
    return { do: 'end', end: failedEnd('unknown_tool', 'UnknownTool', message) };
  }
  const parsed = tool.parse(call.input);
  if ('problem' in parsed) return { do: 'end', end: failedEnd('invalid_input', 'InvalidInput', parsed.problem) };
  return { do: 'run', call: { ...call, tool, value: parsed.value } };
};

const refused = (reason: string, source?: ResultSource) => ({
  do: 'end' as const,
  end: { ...failedEnd('denied', 'Denied', reason), source },
});

const asked = (fold: SessionFold, run: RunContext, { tool, callId, value }: ReadyCall): Plan | undefined => {
  const question = tool.question?.(value as never);
  if (!question) return undefined;
  const known = fold.questions[callId];
  if (known?.answer !== undefined) return { do: 'end', end: { outcome: 'ok', output: known.answer, source: 'person' } };
  const payload = {
    callId,
    tool: tool.name,
    question: question.text,
    options: question.options && [...question.options],
  };
  return {
    do: 'ask',
    draft: { type: 'question.asked', payload, actor: agentActor(run), turn: fold.turn, run: run.run },
  };
};

const expiry = ({ run }: RunContext, { turn }: SessionFold, { id }: ApprovalState): EventDraft => ({
  type: 'approval.settled',
  payload: { approval: id, answer: 'expired' },
  actor: systemActor,
  turn,
  run,
});

/** The earlier call that a `once` call would repeat, unless its tool allows that or its effects were undone. */
const earlierOf = async (
  fold: SessionFold,
  { scope, writer }: RunContext,
  { tool, input }: ReadyCall,
): Promise<EarlierCall | undefined> => {
  if (tool.effects !== 'once' || tool.repeat === 'allow' || (tool.isConfined(input) && !fold.boundTo)) return undefined;
  const found = await findRepeat(scope, writer.key, fold, { tool: tool.name, input });
  return found && loggedRepeat(scope, writer.key, found);
};

/** What a person who approves must have seen of a call: the call that it repeats, and what tainted the context. */
interface Concerns {
  readonly earlier: EarlierCall | undefined;
  readonly held: HeldCall | undefined;
}

/** A person who approved a call before it became a repeat or was known as tainted is asked again. */
const isAnswered = ({ settled, repeats, taintedBy }: ApprovalState, { earlier, held }: Concerns): boolean =>
  settled?.answer !== 'approved' || ((!earlier || repeats !== undefined) && (!held || taintedBy !== undefined));

const summaryOf = ({ tool, input }: ReadyCall, { earlier, held }: Concerns): string => {
  const repeat = earlier ? `Repeat: ${earlierCallText(earlier)}. ` : '';
  const taint = held ? `Tainted: ${heldText(held)}. ` : '';
  return `${repeat}${taint}${tool.name} ${JSON.stringify(input)}`.slice(0, 2000).toWellFormed();
};

/**
 * Returns the plan for a call that needs an approval. An approval is valid only for the input that was shown to the
 * person.
 */
const approved = async (fold: SessionFold, run: RunContext, call: ReadyCall): Promise<Plan | undefined> => {
  const { tool, callId, input } = call;
  const wanted = inputHash(fold.inputKey, input);
  const known = approvalOf(fold, callId);
  const now = run.scope.clock.now();
  const earlier = await earlierOf(fold, run, call);
  if (earlier && tool.repeat === 'deny') {
    return refused(`${earlierCallText(earlier)}; ${tool.name} must not run twice with the same input`);
  }
  const held = taintOn(fold, run, call);
  if (held?.policy === 'deny') {
    return refused(`${heldText(held)}, and the agent's policy forbids ${tool.name} then; a person may clear the taint`);
  }
  const concerns = { earlier, held };
  if (known && isAnswered(known, concerns)) {
    if (!known.settled) return { ...refused('the approval expired without an answer'), also: expiry(run, fold, known) };
    const { answer, comment, by } = known.settled;
    if (answer === 'approved')
      return known.inputHash === wanted ? undefined : refused('the approval is for another input');
    return refused(`${answer} by ${by}${comment ? `: ${comment}` : ''}`, answer === 'denied' ? 'person' : undefined);
  }
  const rule = await tool.approvalFor(input, { state: fold.state });
  if (!rule && !earlier && !held) return undefined;
  const payload = {
    approval: newId('apr', now),
    callId,
    tool: tool.name,
    inputHash: wanted,
    summary: summaryOf(call, concerns),
    requestedBy: fold.run!.requestedBy,
    repeats: earlier,
    taintedBy: held?.by,
    roles: rule?.roles && [...rule.roles],
    notRequester: rule?.notRequester,
    expiresAt: rule?.expiresInMs === undefined ? undefined : now + rule.expiresInMs,
  };
  return {
    do: 'ask',
    draft: { type: 'approval.requested', payload, actor: agentActor(run), turn: fold.turn, run: run.run },
  };
};

const taintOn = (fold: SessionFold, { agent, tools }: RunContext, call: ReadyCall): HeldCall | undefined =>
  heldByTaint(fold, { tainted: agent.tainted, tools }, call);

/** Whether the call is held because of a taint that no person has approved. Checked again when the call begins. */
export const isHeld = (fold: SessionFold, run: RunContext, call: ReadyCall): boolean => {
  const held = taintOn(fold, run, call);
  const known = held && approvalOf(fold, call.callId);
  return held !== undefined && !(held.policy === 'approve' && known?.taintedBy && known.settled?.answer === 'approved');
};

/** Checks the handoff that a tool requests. Returns the problem, for the model. */
const handoffOf = async (
  { scope }: RunContext,
  { to, reason }: ToolHandoff,
): Promise<Pick<PayloadOf<'session.handed'>, 'member' | 'role' | 'reason'> | { readonly problem: string }> => {
  const parsed = HandoffTarget.safeParse(to ?? 'human');
  if (!parsed.success) return { problem: 'expected a member or a role that may act: member, approver or admin' };
  const target = parsed.data;
  const shown = shorten(reason, 2000);
  if (typeof target === 'string') return { reason: shown };
  if ('role' in target) return { role: target.role, reason: shown };
  try {
    await refuseUnableHolder(scope, target.member);
  } catch (error) {
    if (isPerdureError(error, 'MEMBER_NOT_FOUND') || isPerdureError(error, 'INVALID_INPUT'))
      return { problem: error.message };
    throw error;
  }
  return { member: target.member, reason: shown };
};

/** Returns the plan for a call that hands the session to a person. Its result is the report of the handoff. */
const handedOver = async (fold: SessionFold, run: RunContext, call: ReadyCall): Promise<Plan | undefined> => {
  const { tool, callId, value } = call;
  const wanted = tool.handoff?.(value as never);
  if (!wanted) return undefined;
  const { handoff } = fold;
  if (handoff?.callId === callId && handoff.back)
    return { do: 'end', end: { outcome: 'ok', output: handoffReport(handoff), source: 'person' } };
  const target = await handoffOf(run, wanted);
  if ('problem' in target) return { do: 'end', end: failedEnd('invalid_input', 'InvalidInput', target.problem) };
  return { do: 'hand-over', to: { to: 'human', ...target, callId } };
};

export const planFor = async (fold: SessionFold, run: RunContext, call: Call): Promise<Plan> => {
  const plan = checked(run, call);
  if (plan.do !== 'run') return plan;
  return (
    asked(fold, run, plan.call) ??
    (await approved(fold, run, plan.call)) ??
    (await handedOver(fold, run, plan.call)) ??
    plan
  );
};
