import type { ErrorCode } from '../../../schema/error.ts';
import type { PayloadOf } from '../../../schema/event.ts';
import type { ModelFailureKind } from '../../../schema/run.ts';
import type { RunFailure, RunFailureCode } from '../../../schema/run-failure-catalog.ts';

const codes: Readonly<Record<ModelFailureKind, RunFailureCode | ErrorCode>> = {
  overflow: 'MODEL_OVERFLOW',
  'rate-limit': 'MODEL_RATE_LIMIT',
  unavailable: 'MODEL_UNAVAILABLE',
  timeout: 'MODEL_TIMEOUT',
  'broken-stream': 'MODEL_BROKEN_STREAM',
  endless: 'MODEL_ENDLESS',
  refused: 'MODEL_REFUSED',
  unusable: 'MODEL_REFUSED',
  unconfigured: 'HOSTED_MODEL_UNAVAILABLE',
  excluded: 'QUOTA_EXCLUDED',
};

/** The failure of a run whose model failed. Returns undefined if the run asks again. */
export const failureAfter = ({
  failure,
  message,
  retryInMs,
  next,
}: PayloadOf<'model.failed'>): RunFailure | undefined =>
  retryInMs === undefined && next === undefined ? { code: codes[failure], message } : undefined;

const cutOff: Readonly<Record<string, RunFailure>> = {
  length: {
    code: 'MODEL_LENGTH',
    message:
      "the answer was cut off at the limit of output tokens: raise settings.maxOutputTokens of the agent (at most half of the model's window counts), or ask for less at once",
  },
  'content-filter': {
    code: 'MODEL_CONTENT_FILTER',
    message: "the provider's filter stopped the answer: rephrase the input, or use another model",
  },
};

const cutByBudget = (outputTokens: number): RunFailure => ({
  code: 'MODEL_LENGTH',
  message: `the answer was cut off at ${outputTokens} output tokens, which is all that the session's budget or a quota left: raise the budget with session.limit or \`perdure limit SESSION\`, or the quota with \`perdure quotas set\`, then retry the turn`,
});

/**
 * The failure of a run whose answer is not whole. Returns undefined if the answer is whole. `budgeted` is the maximum
 * length of the answer, if the budget left less than the agent wants.
 */
export const failureOfAnswer = (finish: string, budgeted: number | undefined): RunFailure | undefined => {
  if (finish === 'length' && budgeted !== undefined) return cutByBudget(budgeted);
  return Object.hasOwn(cutOff, finish) ? cutOff[finish] : undefined;
};
