import type { EventDraft, SessionEvent } from '../../schema/event.ts';
import { type Actor, newId, systemActor } from '../../schema/ids.ts';
import type { Json } from '../../schema/json.ts';
import type { ToolResultPart } from '../../schema/message.ts';
import type { ToolContext } from '../ports/tool.ts';
import { recallKey } from '../service/compact.ts';
import { asJson } from '../session/as-json.ts';
import { type CallEnd, failedEnd } from '../session/call-end.ts';
import { type Call, endCommit, endFact } from '../session/call-events.ts';
import { decodeEvent } from '../session/event-codec.ts';
import type { SessionFold } from '../session/fold.ts';
import { inputHash } from '../session/input-hash.ts';
import { approvalOf } from '../session/next-step.ts';
import type { ApprovalState } from '../session/run-fold.ts';
import { shownToModel } from '../session/shown-output.ts';
import { delegate } from './delegate.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { type ReadyCall, runTool } from './run-tool.ts';

/** What there is to do about a call: run it, or say at once how it ended, or ask somebody. */
type Plan =
  | { readonly do: 'run'; readonly call: ReadyCall }
  | { readonly do: 'end'; readonly end: CallEnd; readonly also?: EventDraft }
  | { readonly do: 'ask'; readonly draft: EventDraft };

const inputOf = async ({ scope, writer }: RunContext, callId: string, seq: number): Promise<Json> => {
  const [stored] = await scope.store.read(writer.key, { after: seq - 1, upTo: seq, limit: 1 });
  const event = stored && decodeEvent(writer.key.workspace, stored);
  const content = event?.type === 'message.appended' ? event.payload.message.content : [];
  const part = content.find((each) => each.type === 'tool-call' && each.callId === callId);
  return part?.type === 'tool-call' ? part.input : null;
};

const namesOf = (tools: RunContext['tools']): string => [...tools.keys()].join(', ') || 'none';

const checked = ({ tools }: RunContext, call: Call): Plan => {
  const tool = tools.get(call.tool);
  if (!tool) {
    const message = `there is no tool ${call.tool}; there are: ${namesOf(tools)}`;
    return { do: 'end', end: failedEnd('unknown_tool', 'UnknownTool', message) };
  }
  const parsed = tool.parse(call.input);
  if ('problem' in parsed) return { do: 'end', end: failedEnd('invalid_input', 'InvalidInput', parsed.problem) };
  return { do: 'run', call: { ...call, tool, value: parsed.value } };
};

const refused = (reason: string) => ({ do: 'end' as const, end: failedEnd('denied', 'Denied', reason) });

const asked = (fold: SessionFold, run: RunContext, { tool, callId, value }: ReadyCall): Plan | undefined => {
  const question = tool.question?.(value as never);
  if (!question) return undefined;
  const known = fold.questions[callId];
  if (known?.answer !== undefined) return { do: 'end', end: { outcome: 'ok', output: known.answer } };
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

/** An answer holds for the input that was shown, and for no other. */
const approved = async (fold: SessionFold, run: RunContext, call: ReadyCall): Promise<Plan | undefined> => {
  const { tool, callId, input } = call;
  const wanted = inputHash(fold.inputKey, input);
  const known = approvalOf(fold, callId);
  const now = run.scope.clock.now();
  if (known) {
    if (!known.settled) return { ...refused('nobody answered in time'), also: expiry(run, fold, known) };
    const { answer, reason, by } = known.settled;
    if (answer === 'approved')
      return known.inputHash === wanted ? undefined : refused('the input is not the approved one');
    return refused(`${answer} by ${by}${reason ? `: ${reason}` : ''}`);
  }
  const rule = await tool.approvalFor(input, { state: fold.state });
  if (!rule) return undefined;
  const payload = {
    approval: newId('apr', now),
    callId,
    tool: tool.name,
    inputHash: wanted,
    summary: `${tool.name} ${JSON.stringify(input)}`.slice(0, 2000).toWellFormed(),
    requestedBy: fold.run!.requestedBy,
    roles: rule.roles && [...rule.roles],
    notRequester: rule.notRequester,
    expiresAt: rule.expiresInMs === undefined ? undefined : now + rule.expiresInMs,
  };
  return {
    do: 'ask',
    draft: { type: 'approval.requested', payload, actor: agentActor(run), turn: fold.turn, run: run.run },
  };
};

const planFor = async (fold: SessionFold, run: RunContext, call: Call): Promise<Plan> => {
  const plan = checked(run, call);
  if (plan.do !== 'run') return plan;
  return asked(fold, run, plan.call) ?? (await approved(fold, run, plan.call)) ?? plan;
};

const resultMessage = (call: Call, end: CallEnd, seq: number, problem?: string): EventDraft => {
  const text = end.outcome === 'ok' ? shownToModel(asJson(end.output), seq) : end.error.message;
  const part: ToolResultPart = {
    type: 'tool-result',
    callId: call.callId,
    tool: call.tool,
    outcome: end.outcome,
    output: problem ? { output: text, problem } : text,
  };
  const message = { id: newId('msg'), role: 'tool' as const, content: [part] };
  return { type: 'message.appended', payload: { message }, actor: `tool:${call.tool}` as Actor, turn: 'current' };
};

interface About {
  readonly durationMs: number;
  readonly keeps?: Json | undefined;
}

/** The outcome, what the model is told of it, and what it changed, in one. What cannot be committed is said and does not lose the rest. */
const recordEnd = async (run: RunContext, call: Call, end: CallEnd, about: About, also?: EventDraft): Promise<void> => {
  const declaration = run.tools.get(call.tool) ?? {};
  await run.writer.decide((fold) => {
    let change: EventDraft | undefined;
    let problem: string | undefined;
    try {
      change = endCommit(fold, call, declaration, end, run.scope.agents);
    } catch (error) {
      problem = error instanceof Error ? error.message : String(error);
    }
    const drafts = [
      ...(also ? [also] : []),
      endFact(fold, call, declaration, end, about),
      resultMessage(call, end, fold.seq + (also ? 2 : 1), problem),
      ...(change ? [change] : []),
    ];
    return drafts.map((draft) => ({ ...draft, run: run.run }));
  });
};

const execute = async (run: RunContext, fold: SessionFold, call: ReadyCall, attempt: number): Promise<void> => {
  const { scope, writer, signal, folder, preview } = run;
  const { tool, callId } = call;
  const startedAt = performance.now();
  let keeps: Json | undefined;
  const contextFor = (each: number): ToolContext => ({
    ...writer.key,
    run: run.run,
    callId,
    idempotencyKey: `${writer.key.session}/${run.run}/${callId}`,
    attempt: each,
    signal,
    folder,
    state: fold.state,
    kept: fold.kept[tool.name],
    keep: (value) => {
      keeps = asJson(value);
    },
    progress: (text) => preview({ type: 'progress', callId, text }),
    recall: (key) => recallKey(scope, writer.key, key),
    delegate: (agent, task) => delegate(run, callId, agent, task),
  });
  const end = await runTool(call, contextFor, attempt, async (next, reason) => {
    await writer.record(retried(run, call, next, reason));
  });
  // What a worker that lost the session saw is not for it to tell.
  signal.throwIfAborted();
  const durationMs = Math.round((performance.now() - startedAt) * 1000) / 1000;
  await recordEnd(run, { tool: tool.name, callId, input: call.input }, end, { durationMs, keeps });
};

const retried = (run: RunContext, { tool, callId }: ReadyCall, attempt: number, reason: string): EventDraft => ({
  type: 'tool.retried',
  payload: { callId, tool: tool.name, attempt, reason },
  actor: agentActor(run),
  turn: 'current',
  run: run.run,
});

/** Calls without effects run side by side; each of the others alone, in the order in which the model made them. */
const batches = (calls: readonly ReadyCall[]): readonly (readonly ReadyCall[])[] =>
  calls.reduce<ReadyCall[][]>((all, call) => {
    const last = all.at(-1);
    if (last && call.tool.effects === 'none' && last[0]!.tool.effects === 'none') last.push(call);
    else all.push([call]);
    return all;
  }, []);

const begin = (run: RunContext, fold: SessionFold, { tool, callId, input }: ReadyCall): EventDraft => ({
  type: 'tool.called',
  payload: { callId, tool: tool.name, input, inputHash: inputHash(fold.inputKey, input) },
  actor: agentActor(run),
  turn: 'current',
  run: run.run,
});

/** Deals with open calls: runs those that may run, ends those that cannot, and asks about those that a person decides on. */
export const callTools = async (run: RunContext, callIds: readonly string[]): Promise<void> => {
  const fold = await run.writer.fold();
  const ready: ReadyCall[] = [];
  const questions: EventDraft[] = [];
  for (const callId of callIds) {
    const open = fold.openCalls[callId]!;
    const call: Call = { tool: open.tool, callId, input: await inputOf(run, callId, open.seq) };
    const plan = await planFor(fold, run, call);
    if (plan.do === 'run') ready.push(plan.call);
    else if (plan.do === 'ask') questions.push(plan.draft);
    else await recordEnd(run, call, plan.end, { durationMs: 0 }, plan.also);
  }
  if (questions.length > 0) await run.writer.record(...questions);
  for (const batch of batches(ready)) {
    const now = await run.writer.fold();
    if (now.status === 'pausing') return;
    await run.writer.record(...batch.map((call) => begin(run, now, call)));
    await Promise.all(batch.map((call) => execute(run, now, call, 1)));
  }
};

const unknownOutcome =
  'The call was interrupted: the process that ran it is gone, and whether it took effect is not known. Check before you repeat it.';

const recoverOne = async (run: RunContext, fold: SessionFold, callId: string): Promise<void> => {
  const { tool: name, seq, at, attempt } = fold.runningCalls[callId]!;
  const [stored] = await run.scope.store.read(run.writer.key, { after: seq - 1, upTo: seq, limit: 1 });
  const { payload } = decodeEvent(run.writer.key.workspace, stored!) as SessionEvent<'tool.called'>;
  const call: Call = { tool: name, callId, input: payload.input };
  const about = { durationMs: Math.max(0, run.scope.clock.now() - at) };
  const plan = checked(run, call);
  if (plan.do !== 'run') {
    return recordEnd(run, call, failedEnd('interrupted', 'Interrupted', unknownOutcome), about);
  }
  const again = async (): Promise<void> => {
    await run.writer.record(retried(run, plan.call, attempt + 1, 'the process that ran it is gone'));
    await execute(run, fold, plan.call, attempt + 1);
  };
  if (plan.call.tool.effects !== 'once') return again();
  const reconciled = await reconcile(run, fold, plan.call);
  if (reconciled.outcome === 'not-run') return again();
  if (reconciled.outcome === 'ok') return recordEnd(run, call, { outcome: 'ok', output: reconciled.output }, about);
  const message = reconciled.message ? `${unknownOutcome} ${reconciled.message}` : unknownOutcome;
  return recordEnd(run, call, failedEnd('interrupted', 'Interrupted', message), about);
};

const reconcile = async (run: RunContext, fold: SessionFold, { tool, callId, value }: ReadyCall) => {
  if (!tool.reconcile) return { outcome: 'unknown' as const };
  const { scope, writer, signal, folder, preview } = run;
  try {
    return await tool.reconcile(value as never, {
      ...writer.key,
      run: run.run,
      callId,
      idempotencyKey: `${writer.key.session}/${run.run}/${callId}`,
      attempt: 1,
      signal,
      folder,
      state: fold.state,
      kept: fold.kept[tool.name],
      keep: () => undefined,
      progress: (text) => preview({ type: 'progress', callId, text }),
      recall: (key) => recallKey(scope, writer.key, key),
      delegate: (agent, task) => delegate(run, callId, agent, task),
    });
  } catch (error) {
    signal.throwIfAborted();
    return { outcome: 'unknown' as const, message: error instanceof Error ? error.message : String(error) };
  }
};

/** Deals with calls whose runner died: again where that does no harm, asking the tool where it may, and else saying that nobody knows. */
export const recoverCalls = async (run: RunContext, callIds: readonly string[]): Promise<void> => {
  for (const callId of callIds) await recoverOne(run, await run.writer.fold(), callId);
};
