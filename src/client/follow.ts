import { abortableGenerator } from '../concurrency/abortable-generator.ts';
import { pause } from '../concurrency/pause.ts';
import { PerdureError } from '../schema/error.ts';
import type { Query } from './address.ts';
import { type Frame, FrameParser } from './frame-parser.ts';
import { errorOf, isPassing, type Problem, unavailable } from './problem.ts';
import { retryDelayMs } from './retry-delay.ts';
import type { Transport } from './transport.ts';

export interface FollowOptions {
  readonly query?: Query;
  readonly signal?: AbortSignal | undefined;
  /** The longest that a server is believed to be there without a word; it sends one every 15 s. */
  readonly silentMs?: number | undefined;
}

const usualSilentMs = 60_000;
/** Room for the largest payload of a log, written with escapes. */
const maxFrameChars = 128 * 1024 * 1024;

async function* framesOf(response: Response, silentMs: number): AsyncGenerator<Frame, void, void> {
  const parser = new FrameParser(maxFrameChars);
  const reader = response.body!.getReader();
  try {
    for (;;) {
      const silence = Promise.withResolvers<never>();
      const timer = setTimeout(() => silence.reject(new Error(`silent for ${silentMs} ms`)), silentMs);
      const { done, value } = await Promise.race([reader.read(), silence.promise]).finally(() => clearTimeout(timer));
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

const problemOf = (data: string): Error => {
  try {
    return errorOf(JSON.parse(data) as Problem);
  } catch {
    return unavailable('the server ended the stream, and did not tell why');
  }
};

/** What ends the following: what the server refuses, or says of the log, or cannot mean. All else is a connection that broke. */
const endOf = (error: unknown): PerdureError | undefined => {
  if (error instanceof RangeError) return unavailable(`the server does not answer as Perdure does: ${error.message}`);
  return error instanceof PerdureError && !isPassing(error) ? error : undefined;
};

async function* connections(
  transport: Transport,
  path: string,
  { query, silentMs = usualSilentMs }: FollowOptions,
  signal: AbortSignal,
): AsyncGenerator<Frame, void, void> {
  let last: string | undefined;
  for (let attempt = 1; !signal.aborted; attempt++) {
    const response = await transport
      .events(path, {
        ...(query && { query }),
        ...(last !== undefined && { headers: { 'last-event-id': last } }),
        signal,
        isPatient: true,
      })
      .catch((error) => {
        if (!signal.aborted) throw error;
      });
    if (!response) return;
    try {
      for await (const frame of framesOf(response, silentMs)) {
        if (signal.aborted) return;
        if (frame.event === 'error') throw problemOf(frame.data);
        attempt = 0;
        last = frame.id ?? last;
        yield frame;
      }
    } catch (error) {
      if (signal.aborted) return;
      const end = endOf(error);
      if (end) throw end;
    }
    await pause(retryDelayMs(attempt + 1), { signal });
  }
}

/** The frames of a stream, over any number of connections: after a break the next goes on with what the last one did not bring. */
export const follow = (
  transport: Transport,
  path: string,
  options: FollowOptions = {},
): AsyncGenerator<Frame, void, void> =>
  abortableGenerator(options.signal, (signal) => connections(transport, path, options, signal));
