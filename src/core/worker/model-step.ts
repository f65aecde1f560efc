import { hash } from 'node:crypto';
import { z } from 'zod';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { EventDraft, SessionEvent } from '../../schema/event.ts';
import { type MessageId, newId } from '../../schema/ids.ts';
import { AssistantPart } from '../../schema/message.ts';
import { type Compaction, compactSession } from '../context/compact.ts';
import { ShownText } from '../engine/previews.ts';
import { type Model, type ModelAnswer, type ModelDelta, ModelFailure, type ModelRequest } from '../ports/model.ts';
import type { SessionKey } from '../ports/store.ts';
import type { Tool } from '../ports/tool.ts';
import type { Context } from '../session/context/context.ts';
import { schemaTokens } from '../session/context/schema-tokens.ts';
import { asJson } from '../session/events/as-json.ts';
import type { Call } from '../session/events/call-events.ts';
import type { SessionFold } from '../session/fold.ts';
import { redactContext } from '../session/redaction/redact-context.ts';
import { redactAs } from '../session/redaction/redact-draft.ts';
import { costOf, fitBudget, fitQuota, type PlannedRequest } from '../session/runs/budget.ts';
import { failureOfAnswer } from '../session/runs/final-failure.ts';
import { correctionFor } from '../session/runs/token-calibration.ts';
import { boundAnswer } from './answer-bound.ts';
import { AnswerProgress } from './answer-progress.ts';
import { begin, callsAtOnce } from './call-tools.ts';
import { executeCall } from './execute-call.ts';
import { type Asked, failureOf, modelFailed } from './model-failed.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { inChatSpan } from './run-spans.ts';
import { untilAborted } from './run-tool.ts';
import { offeredTools } from './run-tools.ts';

export const defaultOutputTokens = 16_384;
/** The share of the model's window beyond which older turns are compacted before the next request. */
const compactAt = 0.8;
const keptTurns = 4;

/**
 * The longest answer that the agent wants. Always limited, so that the reserved budget covers it. At most half of the
 * model's window, because providers reject a request for more output than the window leaves.
 */
const wantedOutput = ({ agent: { settings } }: RunContext, { contextTokens }: Model): number =>
  Math.max(1, Math.min(settings.maxOutputTokens ?? defaultOutputTokens, Math.floor(contextTokens / 2)));

const offersOf = (tools: Iterable<Tool>): ModelRequest['tools'] =>
  [...tools].map(({ name, description, inputSchema }) => ({ name, description, input: inputSchema }));

const whoAsked = ({ requestedBy, from, scope }: RunContext): string => {
  const { name, about } = from?.profile ?? {};
  const role = from ? `role ${from.role}` : '';
  const [who, more] = name ? [name, [requestedBy, role]] : [requestedBy, [role]];
  const known = more.filter(Boolean).join(', ');
  const line = `You work for ${who}${known ? ` (${known})` : ''} in the workspace ${scope.workspace}.`;
  return about ? `${line} About them: ${about}` : line;
};

const instructionsFor = (run: RunContext): string =>
  [run.agent.instructions, whoAsked(run)].filter(Boolean).join('\n\n');

/** Reports extracted entries that were not committed, because nobody reads the result of this compaction. */
const warnOfDropped = (
  { onWarning }: RunContext['scope'],
  { session }: SessionKey,
  compaction: Compaction | undefined,
): void => {
  const [first, ...others] = compaction?.dropped ?? [];
  if (!first) return;
  const more = others.length > 0 ? `, and ${others.length} more` : '';
  onWarning(
    new PerdureError(
      'INVALID_INPUT',
      `the summarizer of ${session} extracted entries that were not committed: ${first.entry} (${first.reason})${more}`,
      { details: { session, dropped: compaction!.dropped } },
    ),
  );
};

/** Compacts older turns. If the agent's summarizer fails, uses the built-in one, which needs no model. */
const compact = async ({ scope, writer, agent }: RunContext, keepTurns: number): Promise<void> => {
  for (const summarize of agent.summarize ? [agent.summarize, undefined] : [undefined]) {
    try {
      const compaction = await compactSession(scope, writer.key, { keepTurns, summarize }, writer.fence);
      warnOfDropped(scope, writer.key, compaction);
      return;
    } catch (error) {
      if (isPerdureError(error, 'CONFLICT')) return;
      if (!summarize || isPerdureError(error, 'FENCED')) throw error;
      scope.onWarning(error);
    }
  }
};

/** Returns the context, after compacting older turns that are too long or no longer fit. */
const contextFor = async (run: RunContext, model: Model, fold: SessionFold, schemas: number): Promise<Context> => {
  const correction = fold.calibration?.model === model.name ? fold.run!.windowCorrection : 1;
  const room = Math.floor((model.contextTokens - wantedOutput(run, model)) / correction) - schemas;
  const request = { maxTokens: Math.max(room, 1000), instructions: instructionsFor(run), model: model.name };
  const whole = await run.conversation.context(fold, request);
  const isLong = whole.tokens > room * compactAt && whole.turns > keptTurns;
  const { overflowed } = fold.run!;
  if (!isLong && !whole.isCut && !overflowed) return whole;
  await compact(run, overflowed ? 1 : Math.min(keptTurns, whole.turns));
  return run.conversation.context(await run.scope.folds.head(run.writer.key), request);
};

interface CalledAbout {
  readonly fold: SessionFold;
  readonly context: Context;
  readonly tools: ModelRequest['tools'];
  readonly estimatedTokens: number;
}

const called = (
  run: RunContext,
  planned: PlannedRequest,
  outputTokens: number,
  { fold, context, tools, estimatedTokens }: CalledAbout,
): EventDraft<'model.called'> => {
  const { requestTokens } = planned;
  const settings = { ...run.agent.settings, maxOutputTokens: planned.outputTokens };
  return {
    type: 'model.called',
    payload: {
      model: planned.model,
      attempt: fold.run!.failures + 1,
      message: newId('msg', run.scope.clock.now()),
      settings: asJson(settings),
      tools: tools.map(({ name }) => name),
      instructionsHash: hash('sha256', context.system, 'hex'),
      requestTokens,
      reservedTokens: requestTokens + outputTokens,
      ...(planned.price && { reservedUsd: costOf(planned.price, requestTokens, outputTokens) }),
      requestedBy: run.requestedBy,
      estimatedTokens,
      ...(outputTokens < planned.outputTokens && { budgetedOutputTokens: outputTokens }),
    },
    actor: agentActor(run),
    turn: 'current',
    run: run.run,
  };
};

/** Records that the run waits for its budget, unless the budget was raised meanwhile and is now enough. */
const waitForBudget = async (run: RunContext, request: PlannedRequest): Promise<Asked> => {
  const written = await run.writer.decide((fold) => {
    const fit = fitBudget(fold, request, run.scope.clock.now());
    const common = { actor: agentActor(run), turn: 'current' as const, run: run.run };
    if (!('problem' in fit)) return undefined;
    return [{ type: 'run.waiting', payload: { for: 'budget', reason: fit.problem }, ...common }];
  });
  return { ended: written.length > 0 ? 'waits' : 'goes-on' };
};

/** When a run without room in the quota of runs tries again. No event of its session tells that another run ended. */
const runsRetryMs = 30_000;

/** Records that the run waits for a quota: until its period begins anew, or until the quota is changed. */
const waitForQuota = async (run: RunContext, { message, details }: PerdureError): Promise<Asked> => {
  const until = details.quota === 'runs' ? run.scope.clock.now() + runsRetryMs : details.resetsAt;
  const payload = { for: 'quota', reason: message, ...(typeof until === 'number' && { until }) } as const;
  await run.writer.record({ type: 'run.waiting', payload, actor: agentActor(run), turn: 'current', run: run.run });
  return { ended: 'waits' };
};

/** How often a request is shortened, because other runs use the same quota meanwhile. */
const maxShortenings = 5;

/**
 * Records the call, which reserves it from the quotas. Asks for a shorter answer if a quota leaves no room for the
 * planned one. Returns what the run does instead if there is no room for the shortest answer either.
 */
const recordCall = async (
  run: RunContext,
  planned: PlannedRequest,
  wanted: number,
  about: CalledAbout,
): Promise<{ readonly call: SessionEvent<'model.called'>; readonly outputTokens: number } | Asked> => {
  for (let [outputTokens, tries] = [wanted, 0]; ; tries++) {
    try {
      const [call] = await run.writer.record(called(run, planned, outputTokens, about));
      return { call: call as SessionEvent<'model.called'>, outputTokens };
    } catch (error) {
      if (isPerdureError(error, 'QUOTA_EXCLUDED')) {
        return modelFailed(run, planned.model, new ModelFailure('excluded', error.message, { cause: error }));
      }
      if (!isPerdureError(error, 'QUOTA_EXCEEDED')) throw error;
      const shorter = tries < maxShortenings ? fitQuota(error.details, planned, outputTokens) : undefined;
      if (shorter === undefined) return waitForQuota(run, error);
      outputTokens = shorter;
    }
  }
};

const answered = (
  run: RunContext,
  model: Model,
  call: SessionEvent<'model.called'>,
  { parts, finish, usage }: ModelAnswer,
  durationMs: number,
): readonly EventDraft[] => {
  const common = { actor: agentActor(run), turn: 'current' as const, run: run.run };
  const content = parts.map((part) => ({ ...part }));
  return [
    {
      type: 'model.completed',
      payload: { model: model.name, finish, usage, durationMs, requestedBy: run.requestedBy },
      ...common,
    },
    {
      type: 'message.appended',
      payload: { message: { id: call.payload.message, role: 'assistant', content }, model: model.name },
      ...common,
    },
  ];
};

const callsOf = ({ parts }: ModelAnswer): readonly Call[] =>
  parts.flatMap((part) =>
    part.type === 'tool-call' ? { tool: part.tool, callId: part.callId, input: part.input } : [],
  );

/** Asks the model once. The call is journaled before the request, and the answer or failure after it. */
export const askModel = async (run: RunContext, model: Model): Promise<Asked> => {
  const { writer, signal, preview, scope } = run;
  const fold = await writer.fold();
  const redactor = await scope.secrets.redactor();
  const output = run.agent.output?.schema;
  // Leaves room for every tool, because the context decides whether `recall` is offered.
  const room = schemaTokens(offersOf(run.tools.values()), output);
  const context = redactContext(await contextFor(run, model, fold, room), redactor);
  const tools = offersOf(offeredTools(run, context));
  const estimatedTokens = context.tokens + schemaTokens(tools, output);
  const planned: PlannedRequest = {
    model: model.name,
    price: model.price,
    requestTokens: Math.ceil(estimatedTokens * correctionFor(fold.calibration, model.name)),
    outputTokens: wantedOutput(run, model),
  };
  const fit = fitBudget(fold, planned, scope.clock.now());
  if ('problem' in fit) return waitForBudget(run, planned);
  const recorded = await recordCall(run, planned, fit.outputTokens, { fold, context, tools, estimatedTokens });
  if ('ended' in recorded) return recorded;
  const { call, outputTokens } = recorded;
  const startedAt = scope.clock.elapsed();
  const { message } = call.payload;
  const progress = new AnswerProgress(run, model, call, redactor);
  const stopStoring = scope.previews.storeBy(writer.key, () => progress.flush());
  const shown = new ShownText<ModelDelta['kind']>(redactor, (kind, text) => {
    preview({ type: 'delta', message, kind, text });
    progress.show(kind, text);
  });
  const { maxAnswerBytes: maxBytes } = run.agent;
  const bound = boundAnswer(model.name, { outputTokens, maxBytes }, signal);
  let given: ModelAnswer;
  try {
    const request = {
      instructions: context.system,
      messages: context.messages,
      tools,
      output,
      settings: { ...run.agent.settings, maxOutputTokens: outputTokens },
      maxBytes,
      signal: bound.signal,
    };
    const show = ({ kind, text }: ModelDelta): void => {
      bound.count(text);
      if (!signal.aborted) shown.push(kind, text);
    };
    const ask = () => untilAborted(model.answer(request, show), bound.signal);
    given = await inChatSpan(run, model, ask, (error) => failureOf(error).failure);
    shown.end();
    signal.throwIfAborted();
  } catch (error) {
    // The text that `shown` holds back is dropped, because it may be the beginning of a secret.
    scope.previews.over(writer.key);
    await progress.breakOff();
    signal.throwIfAborted();
    if (isPerdureError(error)) throw error;
    return modelFailed(run, model.name, failureOf(error));
  } finally {
    stopStoring();
  }
  progress.end();
  const parts = redactAs(z.array(AssistantPart), [...given.parts], await scope.secrets.redactor());
  const answer = { ...given, parts };
  const drafts = answered(run, model, call, answer, Math.round(scope.clock.elapsed() - startedAt));
  return keepAnswer(run, drafts, answer, message);
};

/** Appends the answer together with the calls that may begin immediately. No call of a cut-off answer begins. */
const keepAnswer = async (
  run: RunContext,
  drafts: readonly EventDraft[],
  answer: ModelAnswer,
  message: MessageId,
): Promise<Asked> => {
  const fold = await run.writer.fold();
  const isWhole = failureOfAnswer(answer.finish, undefined) === undefined;
  const calls = isWhole ? await callsAtOnce(run, fold, callsOf(answer)) : [];
  const begun = calls.map((each, place) => begin(run, fold, each, { message, back: place + 1 }));
  await run.writer.record(...drafts, ...begun);
  run.scope.previews.over(run.writer.key);
  await Promise.all(calls.map((each) => executeCall(run, fold, each, 1)));
  return { ended: 'goes-on' };
};
