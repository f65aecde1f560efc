import type { SessionEvent } from '../../schema/event.ts';
import type { Json } from '../../schema/json.ts';
import type { Said } from '../../schema/said.ts';
import { readReportedCall } from '../engine/reported-call.ts';
import { keyOf, type LogAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { CallRecord } from '../ports/store.ts';
import { clip } from '../session/context/clip.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';

/** A call with what was given to the tool and what it returned. Both are read only if the query asks for them. */
export interface CallDetails extends CallRecord {
  /** What the agent said when it asked for the call. */
  readonly said?: Said | undefined;
  /** Absent if its event cannot be read. */
  readonly input?: Json | undefined;
  readonly output?: Json | undefined;
  readonly error?: { readonly name: string; readonly message: string } | undefined;
  /** The fields that are too long to be listed. They hold the beginning of their text instead. */
  readonly clipped?: readonly ('input' | 'output' | 'error')[] | undefined;
}

/** A query for inputs and outputs returns so many calls, unless it says how many. */
export const defaultWithInput = 100;

const maxChars = 8000;
/** How many calls are read at the same time. */
const readAtOnce = 16;

const clippedText = (text: string, seq: number): string =>
  `${clip(text, maxChars)} [… ${text.length - maxChars} of ${text.length} characters left out; event ${seq} has all of it]`;

/** Returns the value, or the beginning of its text if it is long. */
const bounded = (value: Json, seq: number): { readonly value: Json; readonly isClipped: boolean } => {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= maxChars
    ? { value, isClipped: false }
    : { value: clippedText(text, seq).toWellFormed(), isClipped: true };
};

const eventAt = async (scope: LogAccess, { session }: CallRecord, seq: number): Promise<SessionEvent | undefined> => {
  try {
    const [stored] = await scope.store.read(keyOf(scope, session), { after: seq - 1, upTo: seq, limit: 1 });
    return stored && decodeEvent(scope.workspace, stored);
  } catch (error) {
    if (isSessionDamage(error)) return undefined;
    throw error;
  }
};

interface Found<Value> {
  readonly value: Value;
  /** The event that has it. */
  readonly seq: number;
}

interface Contents {
  readonly input?: Found<Json> | undefined;
  readonly output?: Found<Json> | undefined;
  readonly error?: Found<{ readonly name: string; readonly message: string }> | undefined;
}

const detailsOf = async (scope: LogAccess, call: CallRecord): Promise<CallDetails> => {
  const [called, ended] = await Promise.all([
    eventAt(scope, call, call.seq),
    call.endedSeq === undefined ? undefined : eventAt(scope, call, call.endedSeq),
  ]);
  if (called?.type === 'call.reported') return boundedDetails(call, await reportedContents(scope, call));
  return boundedDetails(call, {
    input: called?.type === 'tool.called' ? { value: called.payload.input, seq: call.seq } : undefined,
    output: ended?.type === 'tool.completed' ? { value: ended.payload.output, seq: ended.seq } : undefined,
    error: ended?.type === 'tool.failed' ? { value: ended.payload.error, seq: ended.seq } : undefined,
  });
};

/** Reads the contents of a call that has no events of its own from the messages that reported it. */
const reportedContents = async (scope: LogAccess, call: CallRecord): Promise<Contents> => {
  const { input, result } = await readReportedCall(scope, call);
  if (!result) return { input };
  const { outcome, output, seq } = result;
  if (outcome === 'ok') return { input, output: { value: output, seq } };
  const message = typeof output === 'string' ? output : JSON.stringify(output);
  return { input, error: { value: { name: 'Error', message }, seq } };
};

const boundedDetails = (call: CallRecord, contents: Contents): CallDetails => {
  const input = contents.input && bounded(contents.input.value, contents.input.seq);
  const output = contents.output && bounded(contents.output.value, contents.output.seq);
  const failure = contents.error?.value;
  const message = contents.error && bounded(contents.error.value.message, contents.error.seq);
  const clipped = (['input', 'output', 'error'] as const).filter((name) => {
    return { input, output, error: message }[name]?.isClipped;
  });
  return {
    ...call,
    ...(input && { input: input.value }),
    ...(output && { output: output.value }),
    ...(failure && message && { error: { name: failure.name, message: message.value as string } }),
    ...(clipped.length > 0 && { clipped }),
  };
};

/** Yields the calls with their inputs and outputs, read from their events when they are needed. */
export async function* withContents(
  scope: LogAccess,
  calls: readonly CallDetails[],
): AsyncGenerator<CallDetails, void, void> {
  for (let from = 0; from < calls.length; from += readAtOnce) {
    const batch = calls.slice(from, from + readAtOnce);
    yield* await Promise.all(batch.map((call) => detailsOf(scope, call)));
    await eventLoop.slice();
  }
}
