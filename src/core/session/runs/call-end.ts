import type { Json } from '../../../schema/json.ts';
import type { ToolOutcome } from '../../../schema/message.ts';
import { clip } from '../context/clip.ts';
import { asJson, storable } from '../events/as-json.ts';
import type { Redactor } from '../redaction/redact.ts';

type Failure = Exclude<ToolOutcome, 'ok'>;

/** How a call ended. */
export type CallEnd =
  | { readonly outcome: 'ok'; readonly output: unknown }
  | { readonly outcome: Failure; readonly error: { readonly name: string; readonly message: string } };

/** The same as it is told: as JSON, without secrets, and bounded. */
export type ToldEnd = Exclude<CallEnd, { outcome: 'ok' }> | { readonly outcome: 'ok'; readonly output: Json };

export const toldEnd = (end: CallEnd, redactor: Redactor): ToldEnd => {
  if (end.outcome === 'ok') return { outcome: 'ok', output: asJson(end.output, redactor) };
  const bounded = (text: string, maxChars: number) => storable(clip(redactor.text(text), maxChars));
  const { name, message } = end.error;
  return { outcome: end.outcome, error: { name: bounded(name, 200), message: bounded(message, 20_000) } };
};

export const failedEnd = (outcome: Failure, name: string, message: string): Exclude<CallEnd, { outcome: 'ok' }> => ({
  outcome,
  error: { name, message },
});

/** Of a fetch and the like, and of MCP clients: the SDK's second version, its first. */
const timeouts: readonly unknown[] = ['TimeoutError', 'REQUEST_TIMEOUT', -32001];

const isTimeout = (error: unknown): boolean => {
  const { name, code } = (error ?? {}) as { name?: unknown; code?: unknown };
  return timeouts.includes(name) || timeouts.includes(code);
};

/** An MCP client throws the same for a cancelled call as for a slow one, so the signal is asked first. */
const outcomeOf = (error: unknown, signal: AbortSignal | undefined): Failure => {
  if (isTimeout(signal?.aborted ? signal.reason : error)) return 'timeout';
  return signal?.aborted || (error instanceof Error && error.name === 'AbortError') ? 'cancelled' : 'threw';
};

const textOf = (value: unknown): string => {
  if (typeof value === 'string') return value;
  return typeof value === 'object' ? JSON.stringify(asJson(value)) : String(value);
};

/** Anything can be thrown, also what cannot be read. */
export const thrownEnd = (error: unknown, signal: AbortSignal | undefined): CallEnd => {
  try {
    const { name, message }: { name: unknown; message: unknown } =
      error instanceof Error ? error : { name: undefined, message: error };
    return failedEnd(outcomeOf(error, signal), typeof name === 'string' ? name : 'Error', textOf(message));
  } catch {
    return failedEnd('threw', 'Error', 'what was thrown cannot be read');
  }
};

export const leftEnd = failedEnd('cancelled', 'AbortError', 'what it gives was not read to its end');

const errorTexts = (output: unknown): readonly string[] | undefined => {
  const { isError, content } = (output ?? {}) as { isError?: unknown; content?: unknown };
  if (isError !== true || !Array.isArray(content)) return undefined;
  return content.flatMap((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : []));
};

/** MCP gives failures back instead of throwing them. What cannot be read is no failure. */
export const givenEnd = (output: unknown): CallEnd => {
  let texts: readonly string[] | undefined;
  try {
    texts = errorTexts(output);
  } catch {
    return { outcome: 'ok', output };
  }
  return texts ? failedEnd('threw', 'ToolError', texts.join('\n') || 'the tool failed') : { outcome: 'ok', output };
};

/** Thrown by a tool that knows how its call ended, such as one that repeats what was recorded. */
export class EndedAs extends Error {
  override readonly name = 'EndedAs';
  readonly end: CallEnd;

  constructor(end: CallEnd) {
    super(end.outcome);
    this.end = end;
  }
}
