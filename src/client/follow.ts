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
  /** After this long without a byte, the connection is treated as dead. The server sends a heartbeat every 15 s. */
  readonly silentMs?: number | undefined;
}

const usualSilentMs = 60_000;
/** Enough for the largest payload of an event with every character escaped. */
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
    return unavailable('the server ended the stream without giving a reason');
  }
};

/**
 * Returns the error if it must end the stream: a refusal, a damaged log or a malformed stream. Returns undefined for
 * a broken connection, which is reopened.
 */
const endOf = (error: unknown): PerdureError | undefined => {
  if (error instanceof RangeError) return unavailable(`unexpected answer from the server: ${error.message}`);
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

/**
 * Yields the frames of a stream over any number of connections. After a break, the next connection resumes after the
 * last frame received.
 */
export const follow = (
  transport: Transport,
  path: string,
  options: FollowOptions = {},
): AsyncGenerator<Frame, void, void> =>
  abortableGenerator(options.signal, (signal) => connections(transport, path, options, signal));
