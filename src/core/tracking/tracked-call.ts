import { type CallEnd, givenEnd, leftEnd, thrownEnd } from '../session/runs/call-end.ts';

export interface ToolCall {
  readonly tool: string;
  readonly callId?: unknown;
  readonly input: unknown;
  /** The caller's abort signal. A call that fails after the abort is recorded as cancelled. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Journals a call, and returns a function that journals its end. That function never fails, because the tool has run
 * and the loop must receive its outcome.
 */
export type BeginCall = (call: ToolCall) => Promise<(ended: CallEnd) => Promise<void>>;

export const runTracked = async (begin: BeginCall, call: ToolCall, run: () => unknown): Promise<unknown> => {
  const end = await begin(call);
  let output: unknown;
  try {
    output = await run();
  } catch (error) {
    await end(thrownEnd(error, call.signal));
    throw error;
  }
  await end(givenEnd(output));
  return output;
};

/** Tracks a call that yields its output piece by piece. The last piece is the outcome, as in the AI SDK. */
export async function* streamTracked(
  begin: BeginCall,
  call: ToolCall,
  run: () => AsyncIterable<unknown>,
): AsyncGenerator<unknown, void, undefined> {
  const end = await begin(call);
  let ended: CallEnd = leftEnd;
  try {
    let last: unknown;
    for await (last of run()) yield last;
    ended = givenEnd(last);
  } catch (error) {
    ended = thrownEnd(error, call.signal);
    throw error;
  } finally {
    await end(ended);
  }
}
