import type { ErrorCode } from './error.ts';
import type { ErrorEntry } from './error-catalog.ts';

/** The causes of run failures that have no error code. At run time only the CLI and the documentation import it. */
export const runFailureCatalog = {
  MODEL_REFUSED: {
    cause:
      'The provider refused the request itself: a wrong key, a model that it does not have or that the account may not use, no credit left, or something in the request that it does not accept. Asking again changes nothing.',
    remedy:
      "Fix what the message names: the key, the model's name, the credit of the account, or the agent's settings and tools. Then send it again.",
  },
  MODEL_UNAVAILABLE: {
    cause:
      'Every time, the provider could not be reached, or said that it cannot answer now (HTTP 5xx). The run has waited for as long as its agent allows.',
    remedy:
      'Check the network, the base URL of the provider, and that the provider is running; if the provider itself is down, wait, or give the agent a fallback (`model: [first, fallback]`). Then send it again.',
  },
  MODEL_RATE_LIMIT: {
    cause: 'The provider asked to slow down, every time. The run has waited for as long as its agent allows.',
    remedy:
      'Wait a little and send it again. If it happens often, give the agent a fallback (`model: [first, fallback]`), raise the limit of your account with the provider, or let workers take on fewer sessions at once (`perdure worker --concurrency N`).',
  },
  MODEL_TIMEOUT: {
    cause: 'The provider sent nothing for too long, every time.',
    remedy:
      'Send it again later. If the model is slow to start, such as a large one on your own machine, raise `models.stallMs` in the configuration.',
  },
  MODEL_BROKEN_STREAM: {
    cause: 'The answer broke off, was empty or could not be read, every time.',
    remedy:
      'Send it again later. If that does not help, check what is between here and the provider, such as a proxy that cuts off long answers, and whether `api` of the provider in the configuration is the right one.',
  },
  MODEL_ENDLESS: {
    cause:
      'The answer went on far beyond the requested output tokens, or beyond the bytes that the agent allows, and was ended. A server that ignores the limit lets a model in a loop write without end.',
    remedy:
      "Send it again, ask in other words, or use another model. If such a long answer is wanted, raise `maxOutputTokens` in the agent's `settings`, and `maxAnswerBytes` in its `policies`.",
  },
  MODEL_OVERFLOW: {
    cause: 'The conversation is too long for the model, even after the earlier turns were compacted into a summary.',
    remedy:
      'Go back with `perdure rewind SESSION --to POINT` and ask for less at once, or use a model with a larger window. If the window is smaller than the configuration says, set `contextTokens` of the model, so that older turns are compacted in time.',
  },
  MODEL_LENGTH: {
    cause:
      "The answer reached the limit of output tokens: the agent's own, or what the session's budget left. What there is of it is in the transcript.",
    remedy:
      "Raise the limit that the message names: `maxOutputTokens` in the agent's `settings`, or the budget with `perdure limit`. Or ask for less at once. Then send it again.",
  },
  MODEL_CONTENT_FILTER: {
    cause: 'A filter of the provider stopped the answer. What there is of it is in the transcript.',
    remedy:
      'Ask in other words, or use another model. If the filter objects to the transcript itself, go back with `perdure rewind SESSION --to POINT`.',
  },
  OUTPUT_INVALID: {
    cause:
      "The answer does not fit the schema of the agent's `output`, even after the model was told twice what is wrong.",
    remedy:
      'Send it again. If it happens often, say in the instructions what you want, simplify the schema, or use another model.',
  },
  MAX_STEPS: {
    cause: 'The run took as many steps as the agent may take for one input. What it did is kept.',
    remedy:
      "Send another input, such as `go on`, for as many steps again; raise `maxSteps` in the agent's `policies` if it needs more.",
  },
  MEMBER_NOT_ALLOWED: {
    cause:
      'The member who sent the input was removed from the workspace, or no longer has a role that may run an agent. The role is read again whenever a worker takes the run.',
    remedy:
      'Another member can send the input again. If it was a mistake, an admin adds the member with `perdure members add`, or raises their role with `perdure members set`.',
  },
  DEFECT: {
    cause:
      'Something happened that Perdure did not expect. The process that worked on the run got the error as a warning.',
    remedy: 'Report it with the message and that warning; then send it again.',
  },
} as const satisfies Readonly<Record<string, ErrorEntry>>;

export type RunFailureCode = keyof typeof runFailureCatalog;

/** The error that a failed run ends with. Logs that other releases wrote can contain other codes. */
export interface RunFailure {
  readonly code: RunFailureCode | ErrorCode;
  readonly message: string;
}
