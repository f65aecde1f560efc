import type { PayloadOf } from '../../../schema/event.ts';
import type { ModelFailureKind } from '../../../schema/run.ts';

/** The models that a run has asked, and how they failed. Models are known by their names. */
export interface ModelTrials {
  /** The model that answered last. The run stays with it. */
  readonly current?: string | undefined;
  /** The models that failed since the last answer or wait. */
  readonly failed: readonly string[];
  /** The models that this run does not ask again, because the next request would fail in the same way. */
  readonly barred: readonly string[];
  /** How often and how long the run has waited for its models since the last answer. */
  readonly waits: number;
  readonly waitedMs: number;
  /** How many answers broke off since the last answer. */
  readonly broken: number;
  /** The time before which a provider does not want to be asked again. */
  readonly notBefore?: number | undefined;
}

export const noTrials: ModelTrials = { failed: [], barred: [], waits: 0, waitedMs: 0, broken: 0 };

/** The number of broken-off answers after which waiting is pointless. */
const maxBroken = 5;

type Failed = PayloadOf<'model.failed'>;

/** Whether a model that failed in this way is asked again in the same run. */
const barring: Readonly<Record<ModelFailureKind, boolean>> = {
  'rate-limit': false,
  unavailable: false,
  timeout: false,
  'broken-stream': false,
  endless: true,
  overflow: true,
  refused: true,
  unusable: true,
  unconfigured: true,
  excluded: true,
};

/**
 * Whether the same model is asked again, with a context that was compacted in between. The delay 0 marks it, because
 * every other delay is longer.
 */
export const isCompacted = ({ failure, retryInMs }: Pick<Failed, 'failure' | 'retryInMs'>): boolean =>
  failure === 'overflow' && retryInMs === 0;

const withName = (names: readonly string[], name: string): readonly string[] =>
  names.includes(name) ? names : [...names, name];

/** Applies a failed request. A failure with a delay ends the round: the run then begins with its first model again. */
export const afterFailure = (trials: ModelTrials, failed: Failed, at: number): ModelTrials => {
  if (isCompacted(failed)) return trials;
  const { model, failure, retryInMs, retryAfterMs = 0 } = failed;
  const barred = barring[failure] ? withName(trials.barred, model) : trials.barred;
  const broken = trials.broken + (failure === 'broken-stream' ? 1 : 0);
  if (retryInMs !== undefined) {
    return { failed: [], barred, broken, waits: trials.waits + 1, waitedMs: trials.waitedMs + retryInMs };
  }
  const notBefore = Math.max(trials.notBefore ?? 0, at + retryAfterMs);
  return { ...trials, failed: withName(trials.failed, model), barred, broken, ...(retryAfterMs > 0 && { notBefore }) };
};

export const afterAnswer = ({ barred }: ModelTrials, model: string): ModelTrials => ({
  ...noTrials,
  current: model,
  barred,
});

/** The models that can still be asked in this round, in the order of the agent. */
const leftOf = (names: readonly string[], { failed, barred }: ModelTrials): readonly string[] =>
  names.filter((name) => !failed.includes(name) && !barred.includes(name));

/**
 * Returns the model to ask. After a crash between a failure and the end of its run no model is left, and the first one
 * is asked once more.
 */
export const modelToAsk = (names: readonly string[], trials: ModelTrials): string => {
  const left = leftOf(names, trials);
  const { current } = trials;
  if (current !== undefined && left.includes(current)) return current;
  return left[0] ?? names.find((name) => !trials.barred.includes(name)) ?? names[0]!;
};

export type AfterFailure =
  /** Compact the context and ask the same model again. */
  | { readonly do: 'compact' }
  | { readonly do: 'ask-next'; readonly model: string }
  | { readonly do: 'wait'; readonly ms: number }
  | { readonly do: 'fail' };

interface FailedRequest {
  readonly model: string;
  readonly failure: ModelFailureKind;
  readonly retryAfterMs?: number | undefined;
  /** Whether the model has already rejected the compacted context. */
  readonly overflowed: boolean;
}

export interface Patience {
  /** The models that the run may ask, in order. */
  readonly names: readonly string[];
  /** How long the run waits for its models in total, from one answer to the next. */
  readonly maxWaitMs: number;
}

/** Decides what a run does after a failed request. `backoffMs` is the delay if no provider requests a longer one. */
export const planAfterFailure = (
  { names, maxWaitMs }: Patience,
  trials: ModelTrials,
  { model, failure, retryAfterMs = 0, overflowed }: FailedRequest,
  now: number,
  backoffMs: number,
): AfterFailure => {
  if (failure === 'overflow' && !overflowed) return { do: 'compact' };
  // Another provider must not be asked for what one has refused, and a wrong request is a defect to correct.
  if (failure === 'refused') return { do: 'fail' };
  const after = afterFailure(trials, { model, attempt: 1, failure, message: '', retryAfterMs }, now);
  const [next] = leftOf(names, after);
  if (next !== undefined) return { do: 'ask-next', model: next };
  const leftMs = maxWaitMs - trials.waitedMs;
  const isPointless = after.broken >= maxBroken || names.every((name) => after.barred.includes(name));
  if (leftMs <= 0 || isPointless) return { do: 'fail' };
  const requestedMs = Math.max(retryAfterMs, (after.notBefore ?? 0) - now);
  return { do: 'wait', ms: Math.max(1, Math.ceil(Math.min(leftMs, Math.max(backoffMs, requestedMs)))) };
};
