import { backoffMs } from '../../concurrency/backoff.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { Usage } from '../../schema/run.ts';
import { readPartialAnswer } from '../engine/read-partial-answer.ts';
import { ModelFailure } from '../ports/model.ts';
import { shorten } from '../session/context/clip.ts';
import { asJson } from '../session/events/as-json.ts';
import { planAfterFailure } from '../session/runs/model-trials.ts';
import { abandoned } from '../session/runs/partial-answer.ts';
import { agentActor, type RunContext } from './run-context.ts';

/** Whether the run waits after a request to a model. The log says whether it fails. */
export interface Asked {
  readonly ended: 'goes-on' | 'waits';
}

const maxBackoffMs = 60_000;
/** The minimum length of a wait that is recorded. During such a wait the worker releases the session. */
const longWaitMs = 5000;
const maxReasonChars = 500;
/** A provider that requests a longer delay has made a mistake. */
const maxRetryAfterMs = 365 * 24 * 3_600_000;

export const failureOf = (error: unknown): ModelFailure => {
  if (error instanceof ModelFailure) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new ModelFailure('refused', message, { cause: error });
};

/** The usage that the provider reported. Some report zeros for a stream that breaks off, which is no report. */
const reportedUsage = ({ usage }: ModelFailure): Usage | undefined =>
  usage && usage.inputTokens + usage.outputTokens > 0 ? usage : undefined;

const reasonFor = (names: readonly string[], message: string): string =>
  `${names.length > 1 ? `none of ${names.length} models answers; the last one failed: ` : ''}${shorten(message, maxReasonChars)}`;

/**
 * Records a failed request and what the run does about it: it asks another model, waits, or fails. A long wait is
 * recorded in the same append. `canCompact` is false if compacting the context would not help.
 */
export const modelFailed = async (
  run: RunContext,
  model: string,
  failure: ModelFailure,
  { canCompact = true } = {},
): Promise<Asked> => {
  const { scope, models, writer } = run;
  const fold = await writer.fold();
  const { trials, failures, overflowed } = fold.run!;
  const { failure: kind } = failure;
  const usage = reportedUsage(failure);
  const retryAfterMs = failure.retryAfterMs && Math.min(Math.round(failure.retryAfterMs), maxRetryAfterMs);
  const message = String(asJson(failure.message));
  const backoff = { firstMs: scope.timing.modelBackoffMs, maxMs: maxBackoffMs, fixed: 0.5 };
  const now = scope.clock.now();
  const plan = planAfterFailure(
    models,
    trials,
    { model, failure: kind, retryAfterMs, overflowed: overflowed || !canCompact },
    now,
    Math.round(backoffMs(trials.waits + 1, backoff, scope.random.number)),
  );
  const waitMs = plan.do === 'wait' ? plan.ms : plan.do === 'compact' ? 0 : undefined;
  const isLong = waitMs !== undefined && waitMs >= longWaitMs;
  const common = { actor: agentActor(run), turn: 'current' as const, run: run.run };
  const failed: EventDraft = {
    type: 'model.failed',
    payload: {
      model,
      attempt: failures + 1,
      failure: kind,
      message,
      retryInMs: waitMs,
      retryAfterMs,
      next: plan.do === 'ask-next' ? plan.model : undefined,
      usage,
      requestedBy: run.requestedBy,
    },
    ...common,
  };
  const waiting: EventDraft = {
    type: 'run.waiting',
    payload: { for: 'model', reason: reasonFor(models.names, message), until: now + (waitMs ?? 0) },
    ...common,
  };
  const partial = await readPartialAnswer(scope, writer.key, fold);
  const broken = partial
    ? [abandoned(partial.message, 'failed', { ...partial, usage: usage ? undefined : partial.usage }, common)]
    : [];
  await writer.record(failed, ...broken, ...(isLong ? [waiting] : []));
  if (isLong) return { ended: 'waits' };
  if (plan.do === 'wait') await scope.clock.sleep(plan.ms, { signal: run.signal });
  run.signal.throwIfAborted();
  return { ended: 'goes-on' };
};
