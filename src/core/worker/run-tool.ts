import type { Json } from '../../schema/json.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';
import type { Tool, ToolContext } from '../ports/tool.ts';
import { type CallEnd, EndedAs, failedEnd, givenEnd, thrownEnd } from '../session/runs/call-end.ts';

/** A call that was validated and may run. */
export interface ReadyCall {
  readonly tool: Tool;
  readonly callId: string;
  readonly input: Json;
  readonly value: unknown;
}

/** The surroundings of a call: the context of each attempt, and the code in which the tool runs. */
export interface CallSurroundings {
  context(attempt: number): ToolContext;
  inside<T>(work: () => T): T;
}

const lastOf = async (output: unknown): Promise<unknown> => {
  if (typeof (output as AsyncIterable<unknown> | null)?.[Symbol.asyncIterator] !== 'function') return output;
  let last: unknown;
  for await (last of output as AsyncIterable<unknown>);
  return last;
};

/** Settles with the work, or when the signal aborts, even if the tool or model ignores the signal. */
export const untilAborted = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });

/**
 * The abort reason of a call that its worker leaves because its child waits. The call runs again when the child
 * continues.
 */
export const waitsForChild = Symbol('waits for its child');

const runOnce = async (
  clock: Timekeeper,
  call: ReadyCall,
  { inside, context }: Pick<CallSurroundings, 'inside'> & { readonly context: ToolContext },
): Promise<CallEnd | undefined> => {
  const { tool, value } = call;
  const timeout = clock.timeout(tool.timeoutMs);
  const signal = AbortSignal.any([context.signal, timeout]);
  try {
    // A generator runs inside the call too, so the call includes the loop over its pieces.
    const work = inside(async () => lastOf(await tool.execute(value as never, { ...context, signal })));
    return givenEnd(await untilAborted(work, signal));
  } catch (error) {
    if (context.signal.reason === waitsForChild) return undefined;
    if (error instanceof EndedAs) return error.end;
    if (timeout.aborted && !context.signal.aborted) {
      return failedEnd('timeout', 'TimeoutError', `the call took longer than ${tool.timeoutMs} ms and was ended`);
    }
    return thrownEnd(error, context.signal);
  }
};

const mayRunAgain = ({ tool }: ReadyCall, end: CallEnd, attempt: number): boolean =>
  tool.effects !== 'once' && attempt <= tool.retry.times && (end.outcome === 'threw' || end.outcome === 'timeout');

/**
 * Runs a call, and retries it if the tool allows that. Each retry is recorded before it begins. Returns undefined if
 * the worker left the call because its child waits.
 */
export const runTool = async (
  clock: Timekeeper,
  call: ReadyCall,
  own: CallSurroundings,
  firstAttempt: number,
  onRetry: (attempt: number, reason: string) => Promise<void>,
): Promise<CallEnd | undefined> => {
  for (let attempt = firstAttempt; ; attempt++) {
    const context = own.context(attempt);
    const end = await runOnce(clock, call, { inside: (work) => own.inside(work), context });
    if (!end || context.signal.aborted || !mayRunAgain(call, end, attempt)) return end;
    await clock.sleep(call.tool.retry.backoffMs * 2 ** (attempt - 1), { signal: context.signal });
    if (context.signal.aborted) return end;
    await onRetry(attempt + 1, end.outcome === 'ok' ? '' : end.error.message);
  }
};
