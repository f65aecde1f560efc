import { currentCall } from '../../core/host/current-call.ts';
import { stackOf, thrownName, thrownText } from '../parse/thrown-text.ts';

/** A promise that a tool started and that was rejected without a handler. */
export interface ToolRejection {
  readonly workspace: string;
  readonly session: string;
  readonly run: string;
  readonly callId: string;
  readonly tool: string;
  /** The stack of the error, without the secrets that the workspace knows. */
  readonly error: string;
}

let listener: ((rejection: ToolRejection) => void) | undefined;

/** Reports further rejections to this listener instead of printing them, until the returned function is called. */
export const onToolRejection = (report: (rejection: ToolRejection) => void): (() => void) => {
  listener = report;
  return () => {
    if (listener === report) listener = undefined;
  };
};

const maxChars = 10_000;

/** The stack, or name and message. Tools may reject with anything, also with objects that throw when they are read. */
const textOf = (reason: unknown): string => {
  try {
    const stack = reason instanceof Error ? stackOf(reason) : '';
    return stack || (reason instanceof Error ? `${thrownName(reason)}: ${thrownText(reason)}` : thrownText(reason));
  } catch {
    return 'an error that cannot be read';
  }
};

export const toolRejectionText = ({ tool, callId, session }: ToolRejection): string =>
  `the tool ${tool} did not await a promise, which was rejected after call ${callId} of ${session} began`;

/**
 * Reports an unhandled rejection if a tool caused it, and returns whether one did. Must be called in the handler of
 * `unhandledRejection`, because only there the causing call is known.
 */
export const reportToolRejection = (reason: unknown, print: (text: string) => void): boolean => {
  const call = currentCall();
  if (!call) return false;
  const { redact, ...about } = call;
  const rejection = { ...about, error: redact(textOf(reason).slice(0, 10 * maxChars)).slice(0, maxChars) };
  if (listener) listener(rejection);
  else print(`${toolRejectionText(rejection)}: ${rejection.error}`);
  return true;
};
