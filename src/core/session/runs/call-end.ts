import { isPerdureError } from '../../../schema/error.ts';
import type { Json } from '../../../schema/json.ts';
import type { ResultSource, ToolOutcome } from '../../../schema/message.ts';
import { clip } from '../context/clip.ts';
import { asJson, storable } from '../events/as-json.ts';
import type { Redactor } from '../redaction/redact.ts';

type Failure = Exclude<ToolOutcome, 'ok'>;

/** Absent when the tool itself returned the result, or when the runtime ended the call. */
interface Sourced {
  readonly source?: ResultSource | undefined;
}

export type CallEnd = Sourced &
  (
    | { readonly outcome: 'ok'; readonly output: unknown }
    | { readonly outcome: Failure; readonly error: { readonly name: string; readonly message: string } }
  );

/** The end of a call in its stored form: JSON, without secrets, and bounded in size. */
export type ToldEnd =
  | Exclude<CallEnd, { outcome: 'ok' }>
  | (Sourced & { readonly outcome: 'ok'; readonly output: Json });

export const toldEnd = (end: CallEnd, redactor: Redactor): ToldEnd => {
  const { source } = end;
  if (end.outcome === 'ok') return { outcome: 'ok', output: asJson(end.output, redactor), source };
  const bounded = (text: string, maxChars: number) => storable(clip(redactor.text(text), maxChars));
  const { name, message } = end.error;
  return { outcome: end.outcome, error: { name: bounded(name, 200), message: bounded(message, 20_000) }, source };
};

export type FailedEnd = Exclude<CallEnd, { outcome: 'ok' }>;

export const failedEnd = (outcome: Failure, name: string, message: string): FailedEnd => ({
  outcome,
  error: { name, message },
});

/** The end of a call whose files or artifacts a quota refuses. */
export const quotaEnd = (message: string): FailedEnd => failedEnd('threw', 'QuotaExceeded', message);

/** Names and codes of timeout errors: those of `fetch`, and of versions 2 and 1 of the MCP SDK. */
const timeouts: readonly unknown[] = ['TimeoutError', 'REQUEST_TIMEOUT', -32001];

const isTimeout = (error: unknown): boolean => {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return timeouts.includes(name) || timeouts.includes(code);
};

/**
 * Returns the outcome of a call that threw. Checks the signal first, because an MCP client throws the same error for a
 * cancelled call as for a slow one.
 */
const outcomeOf = (error: unknown, signal: AbortSignal | undefined): Failure => {
  if (isTimeout(signal?.aborted ? signal.reason : error)) return 'timeout';
  return signal?.aborted || (error instanceof Error && error.name === 'AbortError') ? 'cancelled' : 'threw';
};

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? JSON.stringify(asJson(value)) : String(value);
};

/** Converts a thrown value to the end of a call. Handles any value, even one whose properties throw when read. */
export const thrownEnd = (error: unknown, signal: AbortSignal | undefined): CallEnd => {
  try {
    const { name, message }: { name: unknown; message: unknown } =
      error instanceof Error ? error : { name: undefined, message: error };
    if (isPerdureError(error, 'QUOTA_EXCEEDED')) return quotaEnd(error.message);
    return failedEnd(outcomeOf(error, signal), typeof name === 'string' ? name : 'Error', textOf(message));
  } catch {
    return failedEnd('threw', 'Error', 'the tool threw a value that cannot be read');
  }
};

export const leftEnd = failedEnd('cancelled', 'AbortError', 'the caller stopped reading its output before the end');

const errorTexts = (output: unknown): readonly string[] | undefined => {
  const { isError, content } = (output ?? {}) as { isError?: unknown; content?: unknown };
  if (isError !== true || !Array.isArray(content)) return undefined;
  return content.flatMap((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : []));
};

/**
 * Detects failures that MCP tools return instead of throwing. An output that cannot be read is treated as a success.
 */
export const givenEnd = (output: unknown): CallEnd => {
  let texts: readonly string[] | undefined;
  try {
    texts = errorTexts(output);
  } catch {
    return { outcome: 'ok', output };
  }
  return texts ? failedEnd('threw', 'ToolError', texts.join('\n') || 'the tool failed') : { outcome: 'ok', output };
};

/** A tool throws this to set the outcome of its call. Tools that replay recorded results use it. */
export class EndedAs extends Error {
  override readonly name = 'EndedAs';
  readonly end: CallEnd;

  constructor(end: CallEnd) {
    super(end.outcome);
    this.end = end;
  }
}
