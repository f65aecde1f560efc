import { hash } from 'node:crypto';
import { z } from 'zod';
import { backoffMs } from '../../concurrency/backoff.ts';
import { isPerdureError } from '../../schema/error.ts';
import type { EventDraft } from '../../schema/event.ts';
import { newId } from '../../schema/ids.ts';
import { AssistantPart } from '../../schema/message.ts';
import type { ModelFailureKind } from '../../schema/run.ts';
import type { RunFailure, RunFailureCode } from '../../schema/run-failure-catalog.ts';
import { compactSession } from '../context/compact.ts';
import { ShownText } from '../engine/previews.ts';
import {
  type Finish,
  type Model,
  type ModelAnswer,
  type ModelDelta,
  ModelFailure,
  type ModelRequest,
} from '../ports/model.ts';
import type { Context } from '../session/context/context.ts';
import { schemaTokens } from '../session/context/schema-tokens.ts';
import { asJson } from '../session/events/as-json.ts';
import type { Call } from '../session/events/call-events.ts';
import type { SessionFold } from '../session/fold.ts';
import { redactContext } from '../session/redaction/redact-context.ts';
import { redactAs } from '../session/redaction/redact-draft.ts';
import { fitBudget, type PlannedRequest } from '../session/runs/budget.ts';
import { correctionFor } from '../session/runs/token-calibration.ts';
import { begin, callsAtOnce } from './call-tools.ts';
import { executeCall } from './execute-call.ts';
import { agentActor, type RunContext } from './run-context.ts';
import { inChatSpan } from './run-spans.ts';
import { untilAborted } from './run-tool.ts';
import type { WorkAccess } from './work-access.ts';

/** The outcome of a request to the model, from the run's point of view. */
export type Asked =
  | { readonly ended: 'goes-on' }
  | { readonly ended: 'waits' }
  | { readonly ended: 'failed'; readonly error: RunFailure };

export const defaultOutputTokens = 16_384;
/** The share of the model's window beyond which older turns are compacted before the next request. */
const compactAt = 0.8;
const keptTurns = 4;
const maxFailures = 5;
const maxBackoffMs = 60_000;
/** The minimum length of a wait that is recorded. During such a wait the worker releases the session. */
const longWaitMs = 5000;

/** The longest answer that the agent wants. Always limited, so that the reserved budget covers it. */
const wantedOutput = ({ agent: { settings } }: RunContext): number => settings.maxOutputTokens ?? defaultOutputTokens;

const retryDelayMs = ({ timing, random }: WorkAccess, failures: number, { retryAfterMs }: ModelFailure): number => {
  if (retryAfterMs !== undefined) return Math.min(maxBackoffMs, retryAfterMs);
  const backoff = { firstMs: timing.modelBackoffMs, maxMs: maxBackoffMs, fixed: 0.5 };
  return Math.round(backoffMs(failures + 1, backoff, random.number));
};

const offersOf = ({ tools }: RunContext): ModelRequest['tools'] =>
  [...tools.values()].map(({ name, description, inputSchema }) => ({ name, description, input: inputSchema }));

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

/** Compacts older turns. If the agent's summarizer fails, uses the built-in one, which needs no model. */
const compact = async ({ scope, writer, agent }: RunContext, keepTurns: number): Promise<void> => {
  for (const summarize of agent.summarize ? [agent.summarize, undefined] : [undefined]) {
    try {
      await compactSession(scope, writer.key, { keepTurns, summarize }, writer.epoch);
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
  const room = Math.floor((model.contextTokens - wantedOutput(run)) / correction) - schemas;
  const request = { maxTokens: Math.max(room, 1000), instructions: instructionsFor(run) };
  const whole = await run.conversation.context(fold, request);
  const isLong = whole.tokens > room * compactAt && whole.turns > keptTurns;
  const { overflowed } = fold.run!;
  if (!isLong && !whole.isCut && !overflowed) return whole;
  await compact(run, overflowed ? 1 : Math.min(keptTurns, whole.turns));
  return run.conversation.context(await run.scope.folds.head(run.writer.key), request);
};

const called = (
  run: RunContext,
  planned: PlannedRequest,
  outputTokens: number,
  { fold, context, estimatedTokens }: { fold: SessionFold; context: Context; estimatedTokens: number },
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
      tools: [...run.tools.keys()],
      instructionsHash: hash('sha256', context.system, 'hex'),
      requestTokens,
      reservedTokens: requestTokens + outputTokens,
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

const answered = (
  run: RunContext,
  model: Model,
  call: EventDraft<'model.called'>,
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
      payload: { message: { id: call.payload.message, role: 'assistant', content } },
      ...common,
    },
  ];
};

const callsOf = ({ parts }: ModelAnswer): readonly Call[] =>
  parts.flatMap((part) =>
    part.type === 'tool-call' ? { tool: part.tool, callId: part.callId, input: part.input } : [],
  );

const failureOf = (error: unknown): ModelFailure => {
  if (error instanceof ModelFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ModelFailure('refused', message, { cause: error });
};

const mayTryAgain = (failure: ModelFailure, fold: SessionFold): boolean => {
  const { failures, overflowed } = fold.run!;
  if (failure.failure === 'refused') return false;
  return failure.failure === 'overflow' ? !overflowed : failures + 1 < maxFailures;
};

/** Asks the model once. The call is journaled before the request, and the answer or failure after it. */
export const askModel = async (run: RunContext, model: Model): Promise<Asked> => {
  const { writer, signal, preview, scope } = run;
  const fold = await writer.fold();
  const redactor = await scope.secrets.redactor();
  const tools = offersOf(run);
  const output = run.agent.output?.schema;
  const schemas = schemaTokens(tools, output);
  const context = redactContext(await contextFor(run, model, fold, schemas), redactor);
  const estimatedTokens = context.tokens + schemas;
  const planned: PlannedRequest = {
    model: model.name,
    price: model.price,
    requestTokens: Math.ceil(estimatedTokens * correctionFor(fold.calibration, model.name)),
    outputTokens: wantedOutput(run),
  };
  const fit = fitBudget(fold, planned, scope.clock.now());
  if ('problem' in fit) return waitForBudget(run, planned);
  const { outputTokens } = fit;
  const call = called(run, planned, outputTokens, { fold, context, estimatedTokens });
  await writer.record(call);
  const startedAt = scope.clock.elapsed();
  const { message } = call.payload;
  const shown = new ShownText<ModelDelta['kind']>(redactor, (kind, text) =>
    preview({ type: 'delta', message, kind, text }),
  );
  let given: ModelAnswer;
  try {
    const request = {
      instructions: context.system,
      messages: context.messages,
      tools,
      output,
      settings: { ...run.agent.settings, maxOutputTokens: outputTokens },
      signal,
    };
    const show = ({ kind, text }: ModelDelta): void => {
      if (!signal.aborted) shown.push(kind, text);
    };
    const ask = () => untilAborted(model.answer(request, show), signal);
    given = await inChatSpan(run, model, ask, (error) => failureOf(error).failure);
  } catch (error) {
    scope.previews.over(writer.key);
    signal.throwIfAborted();
    if (isPerdureError(error)) throw error;
    return failed(run, model, call, failureOf(error));
  } finally {
    shown.end();
  }
  signal.throwIfAborted();
  const parts = redactAs(z.array(AssistantPart), [...given.parts], await scope.secrets.redactor());
  const answer = { ...given, parts };
  const drafts = answered(run, model, call, answer, Math.round(scope.clock.elapsed() - startedAt));
  return keepAnswer(run, drafts, answer, call.payload.budgetedOutputTokens);
};

/**
 * Appends the answer together with the calls that may begin immediately. `budgetLeft` is the maximum length of the
 * answer, if the budget left less than the agent wants.
 */
const keepAnswer = async (
  run: RunContext,
  drafts: readonly EventDraft[],
  answer: ModelAnswer,
  budgetLeft: number | undefined,
): Promise<Asked> => {
  const ended = finished(answer, budgetLeft);
  const fold = await run.writer.fold();
  const calls = ended.ended === 'goes-on' ? await callsAtOnce(run, fold, callsOf(answer)) : [];
  await run.writer.record(...drafts, ...calls.map((each) => begin(run, fold, each)));
  run.scope.previews.over(run.writer.key);
  await Promise.all(calls.map((each) => executeCall(run, fold, each, 1)));
  return ended;
};

const cutOff: Readonly<Partial<Record<Finish, RunFailure>>> = {
  length: {
    code: 'MODEL_LENGTH',
    message:
      'the answer was cut off at the limit of output tokens: raise settings.maxOutputTokens of the agent, or ask for less at once',
  },
  'content-filter': {
    code: 'MODEL_CONTENT_FILTER',
    message: "the provider's filter stopped the answer: rephrase the input, or use another model",
  },
};

const cutByBudget = (outputTokens: number): RunFailure => ({
  code: 'MODEL_LENGTH',
  message: `the answer was cut off at ${outputTokens} output tokens, which is all that the session's budget left: raise it with session.limit or \`perdure limit SESSION\`, then retry the turn`,
});

const finished = ({ finish }: ModelAnswer, budgetLeft: number | undefined): Asked => {
  const error = finish === 'length' && budgetLeft !== undefined ? cutByBudget(budgetLeft) : cutOff[finish];
  return error ? { ended: 'failed', error } : { ended: 'goes-on' };
};

const failureCodes: Readonly<Record<ModelFailureKind, RunFailureCode>> = {
  overflow: 'MODEL_OVERFLOW',
  'rate-limit': 'MODEL_RATE_LIMIT',
  unavailable: 'MODEL_UNAVAILABLE',
  timeout: 'MODEL_TIMEOUT',
  'broken-stream': 'MODEL_BROKEN_STREAM',
  refused: 'MODEL_REFUSED',
};

const failed = async (
  run: RunContext,
  model: Model,
  call: EventDraft<'model.called'>,
  failure: ModelFailure,
): Promise<Asked> => {
  const fold = await run.writer.fold();
  const isRetried = mayTryAgain(failure, fold);
  const retryInMs = isRetried ? retryDelayMs(run.scope, fold.run!.failures, failure) : undefined;
  const { attempt } = call.payload;
  const common = { actor: agentActor(run), turn: 'current' as const, run: run.run };
  const waits = failure.failure !== 'overflow' && retryInMs !== undefined && retryInMs >= longWaitMs;
  const until = waits ? run.scope.clock.now() + retryInMs : undefined;
  const failedDraft: EventDraft = {
    type: 'model.failed',
    payload: {
      model: model.name,
      attempt,
      failure: failure.failure,
      message: String(asJson(failure.message)),
      retryInMs,
      usage: failure.usage,
      requestedBy: run.requestedBy,
    },
    ...common,
  };
  const reason = `asks ${model.name} again after: ${failure.failure}`;
  const rest: EventDraft[] = waits
    ? [{ type: 'run.waiting', payload: { for: 'model', reason, until }, ...common }]
    : [];
  await run.writer.record(failedDraft, ...rest);
  if (waits) return { ended: 'waits' };
  if (retryInMs === undefined) {
    return { ended: 'failed', error: { code: failureCodes[failure.failure], message: failure.message } };
  }
  if (failure.failure !== 'overflow') await run.scope.clock.sleep(retryInMs, { signal: run.signal });
  run.signal.throwIfAborted();
  return { ended: 'goes-on' };
};
