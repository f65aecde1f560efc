import type { ToolOutcome } from '../../schema/message.ts';
import { asJson } from './as-json.ts';

type Failure = Exclude<ToolOutcome, 'ok'>;

/** How a call ended. */
export type CallEnd =
  | { readonly outcome: 'ok'; readonly output: unknown }
  | { readonly outcome: Failure; readonly error: { readonly name: string; readonly message: string } };

export const failedEnd = (outcome: Failure, name: string, message: string): CallEnd => ({
  outcome,
  error: { name: String(asJson(name.slice(0, 200))), message: String(asJson(message.slice(0, 20_000))) },
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

export const thrownEnd = (error: unknown, signal: AbortSignal | undefined): CallEnd => {
  const { name, message } = error instanceof Error ? error : { name: 'Error', message: String(error) };
  return failedEnd(outcomeOf(error, signal), name, message);
};

export const leftEnd = failedEnd('cancelled', 'AbortError', 'what it gives was not read to its end');

/** MCP gives failures back instead of throwing them. */
export const givenEnd = (output: unknown): CallEnd => {
  const { isError, content } = (output ?? {}) as { isError?: unknown; content?: unknown };
  if (isError !== true || !Array.isArray(content)) return { outcome: 'ok', output };
  const texts = content.flatMap((part: { text?: unknown } | null) => (typeof part?.text === 'string' ? part.text : []));
  return failedEnd('threw', 'ToolError', texts.join('\n') || 'the tool failed');
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
