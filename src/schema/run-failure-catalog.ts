import type { ErrorCode } from './error.ts';
import type { ErrorEntry } from './error-catalog.ts';

/** Why a run failed, where it was not an error that did it. Nothing imports this at run time but the command line and documents. */
export const runFailureCatalog = {
  MODEL_REFUSED: {
    cause:
      'The provider refused the request itself: a wrong key, a model that it does not have or that the account may not use, used-up credit, or something in the request that it does not take. Asking again changes nothing.',
    remedy:
      "Mend what the message names: the key, the model's name, the credit of the account, or the agent's settings and tools. Then send it again.",
  },
  MODEL_UNAVAILABLE: {
    cause: 'The provider could not be reached, or answered that it cannot answer now (HTTP 5xx), at every try.',
    remedy:
      'Check the network, the base URL of the provider, and that what should answer there runs; where the provider itself is down, wait. Then send it again.',
  },
  MODEL_RATE_LIMIT: {
    cause: 'The provider asked to slow down, at every try.',
    remedy:
      "Wait a little and send it again. If it comes often, raise the limit of the provider's account, or let workers take on fewer sessions at once (`perdure worker --concurrency N`).",
  },
  MODEL_TIMEOUT: {
    cause: 'The provider sent nothing for too long, at every try.',
    remedy:
      'Send it again later. If the model is slow to begin, as a large one on a machine of your own, raise `models.stallMs` in the configuration.',
  },
  MODEL_BROKEN_STREAM: {
    cause: 'The answer broke off before its end, was empty or could not be read, at every try.',
    remedy:
      'Send it again later. If it stays so, look at what is between here and the provider, such as a proxy that ends long answers, and whether `api` of the provider in the configuration is how it speaks.',
  },
  MODEL_OVERFLOW: {
    cause:
      'The conversation is too long for the model, also after the turns before this one were compacted into a summary.',
    remedy:
      'Go back with `perdure rewind SESSION --to POINT` and ask for less at once, or take a model with a larger window. If the window is smaller than the configuration says, set `contextTokens` of the model: then older turns are compacted in time.',
  },
  MODEL_LENGTH: {
    cause: 'The answer came to the limit of output tokens before its end. What there was of it is in the transcript.',
    remedy: "Raise `maxOutputTokens` in the agent's `settings`, or ask for less at once; then send it again.",
  },
  MODEL_CONTENT_FILTER: {
    cause: 'A filter of the provider stopped the answer. What there was of it is in the transcript.',
    remedy:
      'Ask in other words, or take another model. If the transcript itself offends, go back with `perdure rewind SESSION --to POINT`.',
  },
  OUTPUT_INVALID: {
    cause:
      "The answer does not fit the schema of the agent's `output`, also after the model was told twice what is wrong with it.",
    remedy:
      'Send it again. If it comes often, say in the instructions what is wanted, make the schema simpler, or take another model.',
  },
  MAX_STEPS: {
    cause: 'The run took as many steps as the agent may take for one input. What it did is kept.',
    remedy:
      "Send another input, such as `go on`, for as many steps again; raise `maxSteps` in the agent's `policies` if it needs more.",
  },
  DEFECT: {
    cause:
      'Something happened that Perdure did not foresee. The process that worked on the run was told the error as a warning.',
    remedy: 'Report it with the message and the warning of the process that worked on the run; then send it again.',
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

export type RunFailureCode = keyof typeof runFailureCatalog;

/** What a run that fails here ends with. Logs may hold other codes, of other releases. */
export interface RunFailure {
  readonly code: RunFailureCode | ErrorCode;
  readonly message: string;
}
