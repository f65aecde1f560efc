import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import { newId, systemActor } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { CallSaid } from '../../schema/said.ts';
import type { Call } from '../session/events/call-events.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { saidFor } from '../session/said-for.ts';
import { executeCall } from './execute-call.ts';
import { isHeld, planFor } from './plan-call.ts';
import { asksToPrepare, prepareRule } from './prepare-approval.ts';
import { recordEnd } from './record-end.ts';
import { agentActor, type RunContext } from './run-context.ts';
import type { ReadyCall } from './run-tool.ts';

/** The calls of one answer, by id, in the model's order. */
type AnswerCalls = ReadonlyMap<string, { readonly input: Json; readonly place: number }>;

/** Returns a function that finds an open call in its answer. Each answer is searched once, however many calls it has. */
const callFinder = ({ conversation }: RunContext) => {
  const answers = new Map<number, AnswerCalls>();
  return async (callId: string, seq: number) => {
    if (!answers.has(seq)) {
      const parts = (await conversation.messageAt(seq))?.content ?? [];
      const calls = parts.filter((part) => part.type === 'tool-call');
      answers.set(seq, new Map(calls.map((part, place) => [part.callId, { input: part.input, place }])));
    }
    return answers.get(seq)!.get(callId) ?? { input: null, place: 0 };
  };
};

/**
 * Gives each call beyond the agent's limit a result, all in one append. They have no record, because they are not
 * examined further.
 */
const refuseExcess = async (run: RunContext, excess: readonly Call[]): Promise<void> => {
  const { maxCalls } = run.agent;
  const output = `not run: an answer may have at most ${maxCalls} calls that run; make further calls in your next answer`;
  await run.writer.decide(({ openCalls }) => {
    const open = excess.filter(({ callId }) => openCalls[callId]);
    if (open.length === 0) return undefined;
    const content = open.map(({ callId, tool }) => ({
      type: 'tool-result' as const,
      callId,
      tool,
      outcome: 'denied' as const,
      output,
    }));
    const message = { id: newId('msg'), role: 'tool' as const, content };
    return [{ type: 'message.appended', payload: { message }, actor: systemActor, turn: 'current', run: run.run }];
  });
};

/** Bounds the calls in flight, and with them what one answer can load onto its worker at once. */
const maxInParallel = 64;

/**
 * Groups calls into batches. Calls without effects run in parallel. Every other call runs alone, in the model's order.
 */
const batches = (calls: readonly ReadyCall[]): readonly (readonly ReadyCall[])[] =>
  calls.reduce<ReadyCall[][]>((all, call) => {
    const last = all.at(-1);
    const isParallel = last && last.length < maxInParallel && last[0]!.tool.effects === 'none';
    if (isParallel && call.tool.effects === 'none') last.push(call);
    else all.push([call]);
    return all;
  }, []);

export const begin = (
  run: RunContext,
  fold: SessionFold,
  { tool, callId, input }: ReadyCall,
  said: CallSaid | undefined = saidFor(fold, { callId, tool: tool.name }),
): EventDraft => ({
  type: 'tool.called',
  payload: {
    callId,
    tool: tool.name,
    input,
    inputHash: inputHash(fold.inputKey, input),
    effects: tool.effects,
    // A rewind does not restore a person's own folder.
    ...(tool.isConfined(input) && !fold.boundTo && { confined: true }),
    ...(said && { said }),
    ...(tool.untrusted && { untrusted: true }),
  },
  actor: agentActor(run),
  turn: 'current',
  run: run.run,
});

/**
 * Returns the calls of an answer that can begin in the same append that stores the answer, which saves an append.
 * These are the first parallel batch, if no call of the answer needs an approval, an answer or a rejection. If an
 * approval rule throws here, it throws again after the answer is stored.
 */
export const callsAtOnce = async (run: RunContext, fold: SessionFold, calls: readonly Call[]) => {
  if (fold.status !== 'active' || calls.length > run.agent.maxCalls) return [];
  if (new Set(calls.map(({ callId }) => callId)).size < calls.length) return [];
  // The worktree must be ready before it is known whether a person is asked.
  if (await prepareRule(run.agent, fold.state)) return [];
  const plans = await Promise.all(calls.map((call) => planFor(fold, run, call))).catch(() => []);
  const ready = plans.flatMap((plan) => (plan.do === 'run' ? plan.call : []));
  return ready.length === calls.length ? (batches(ready)[0] ?? []) : [];
};

/**
 * Handles open calls: runs those that may run, ends those that cannot run, and requests a decision for those that a
 * person must decide.
 */
export const callTools = async (run: RunContext, callIds: readonly string[]): Promise<void> => {
  const fold = await run.writer.fold();
  const ready: ReadyCall[] = [];
  const questions: EventDraft[] = [];
  const excess: Call[] = [];
  const find = callFinder(run);
  let handoff: PayloadOf<'session.handed'> | undefined;
  for (const callId of callIds) {
    const open = fold.openCalls[callId]!;
    const { input, place } = await find(callId, open.seq);
    const call: Call = { tool: open.tool, callId, input };
    if (place >= run.agent.maxCalls) {
      excess.push(call);
      continue;
    }
    const plan = await planFor(fold, run, call);
    if (plan.do === 'run') ready.push(plan.call);
    else if (plan.do === 'ask') questions.push(plan.draft);
    else if (plan.do === 'hand-over') handoff ??= plan.to;
    else await recordEnd(run, call, plan.end, { durationMs: 0, also: plan.also });
  }
  if (excess.length > 0) await refuseExcess(run, excess);
  if (questions.length > 0) await run.writer.record(...questions);
  for (const batch of batches(ready)) {
    const now = await run.writer.fold();
    // A call that is still running waits for its child.
    if (now.status === 'pausing' || Object.keys(now.runningCalls).length > 0) return;
    if (await asksToPrepare(run, batch)) return;
    if (batch.some((call) => isHeld(now, run, call))) return;
    await run.writer.record(...batch.map((call) => begin(run, now, call)));
    await Promise.all(batch.map((call) => executeCall(run, now, call, 1)));
  }
  if (handoff) await handOverTo(run, handoff);
};

/**
 * Hands the session to a person, after the other calls of the answer have run. The run waits from the same append on.
 * A further handoff of the answer is made when this one is over.
 */
const handOverTo = async (run: RunContext, to: PayloadOf<'session.handed'>): Promise<void> => {
  await run.writer.decide(({ status, turn, runningCalls }) => {
    if (status !== 'active' || Object.keys(runningCalls).length > 0) return undefined;
    const common = { actor: agentActor(run), turn, run: run.run };
    const waiting = { for: 'human', reason: to.reason } as const;
    return [
      { type: 'run.waiting', payload: waiting, ...common },
      { type: 'session.handed', payload: to, ...common },
    ];
  });
};
