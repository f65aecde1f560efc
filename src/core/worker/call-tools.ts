import type { EventDraft, PayloadOf } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';
import type { Call } from '../session/events/call-events.ts';
import { inputHash } from '../session/events/input-hash.ts';
import type { SessionFold } from '../session/fold.ts';
import { executeCall } from './execute-call.ts';
import { planFor } from './plan-call.ts';
import { recordEnd } from './record-end.ts';
import { agentActor, type RunContext } from './run-context.ts';
import type { ReadyCall } from './run-tool.ts';

const inputOf = async ({ conversation }: RunContext, callId: string, seq: number): Promise<Json> => {
  const message = await conversation.messageAt(seq);
  const part = message?.content.find((each) => each.type === 'tool-call' && each.callId === callId);
  return part?.type === 'tool-call' ? part.input : null;
};

/**
 * Groups calls into batches. Calls without effects run in parallel. Every other call runs alone, in the model's order.
 */
const batches = (calls: readonly ReadyCall[]): readonly (readonly ReadyCall[])[] =>
  calls.reduce<ReadyCall[][]>((all, call) => {
    const last = all.at(-1);
    if (last && call.tool.effects === 'none' && last[0]!.tool.effects === 'none') last.push(call);
    else all.push([call]);
    return all;
  }, []);

export const begin = (run: RunContext, fold: SessionFold, { tool, callId, input }: ReadyCall): EventDraft => ({
  type: 'tool.called',
  payload: {
    callId,
    tool: tool.name,
    input,
    inputHash: inputHash(fold.inputKey, input),
    effects: tool.effects,
    // A rewind does not restore a person's own folder.
    ...(tool.isConfined(input) && !fold.boundTo && { confined: true }),
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
  if (fold.status !== 'active' || new Set(calls.map(({ callId }) => callId)).size < calls.length) return [];
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
  let handoff: PayloadOf<'session.handed'> | undefined;
  for (const callId of callIds) {
    const open = fold.openCalls[callId]!;
    const call: Call = { tool: open.tool, callId, input: await inputOf(run, callId, open.seq) };
    const plan = await planFor(fold, run, call);
    if (plan.do === 'run') ready.push(plan.call);
    else if (plan.do === 'ask') questions.push(plan.draft);
    else if (plan.do === 'hand-over') handoff ??= plan.to;
    else await recordEnd(run, call, plan.end, { durationMs: 0, also: plan.also });
  }
  if (questions.length > 0) await run.writer.record(...questions);
  for (const batch of batches(ready)) {
    const now = await run.writer.fold();
    // A call that is still running waits for its child.
    if (now.status === 'pausing' || Object.keys(now.runningCalls).length > 0) return;
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
