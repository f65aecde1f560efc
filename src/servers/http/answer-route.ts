import { z } from 'zod';
import type { Identity } from '../../core/access/identity.ts';
import type { Runtime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { CallersKey } from '../../schema/idempotency-key.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { BodyRoom } from './body-room.ts';
import { eventStream } from './event-stream.ts';
import { jsonText } from './json-text.ts';
import { unauthenticated } from './problem.ts';
import { limited, readJson } from './read-body.ts';
import { readQuery } from './read-query.ts';
import { bytes, type EventSource, type Route, type RouteCall, stream } from './route.ts';

/** An authenticated request, and the callbacks that answering it needs. */
export interface Asking {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly identity: Identity;
  /** Whether the key is still valid. */
  readonly mayGoOn: () => Promise<boolean>;
  /** Reports an error after the answer has begun. */
  readonly onFailure: (error: unknown) => void;
  /** Destroys the connection, so that the client sees an incomplete answer. */
  readonly cutOff: () => void;
  /**
   * Counts a stream or a wait against the key's limit until the returned function is called. Fails when the key has
   * too many.
   */
  readonly open: () => () => void;
  /** Changes the number of open streams by +1 or -1. */
  readonly onStream: (change: 1 | -1) => void;
}

export interface AnswerOptions {
  readonly runtime: Runtime;
  readonly beatMs: number;
  /** Aborts when the server stops, which ends all streams. */
  readonly stopping: AbortSignal;
  /** Limits the memory of request bodies in progress. */
  readonly bodies: BodyRoom;
  /** Validates answers against their schemas; for tests. */
  readonly checksAnswers: boolean;
}

type AnyCall = RouteCall<unknown, unknown, unknown>;

const defaultMaxBytes = 1024 * 1024;

const streaming =
  (asking: Asking, { beatMs }: AnswerOptions, signal: AbortSignal) =>
  (source: EventSource) => {
    const close = asking.open();
    asking.onStream(1);
    return eventStream(source, {
      signal,
      beatMs,
      mayGoOn: asking.mayGoOn,
      onFailure: (error) => {
        asking.onFailure(error);
        const known = error instanceof PerdureError ? error : undefined;
        return { event: 'error', data: { code: known?.code ?? 'DEFECT', ...(known && { detail: known.message }) } };
      },
      onEnd: () => {
        close();
        asking.onStream(-1);
      },
    });
  };

const waiting =
  ({ open }: Asking) =>
  async <T>(work: () => Promise<T>): Promise<T> => {
    const close = open();
    try {
      return await work();
    } finally {
      close();
    }
  };

/** Waits for the work. If the key is revoked in the meantime, fails instead of returning the result. */
const whileKeyCounts = async <T>(
  { mayGoOn }: Asking,
  { beatMs }: AnswerOptions,
  revoked: AbortController,
  work: () => Promise<T>,
): Promise<T> => {
  const end = (reason: unknown) => revoked.abort(reason);
  const beat = setInterval(() => void mayGoOn().then((may) => may || end(unauthenticated), end), beatMs);
  try {
    return await work();
  } catch (error) {
    throw revoked.signal.aborted ? revoked.signal.reason : error;
  } finally {
    clearInterval(beat);
  }
};

const longestRecheckMs = 1000;

/** Breaks off an upload or a download when its key is no longer valid. */
async function* untilRevoked(
  chunks: AsyncIterable<Uint8Array>,
  { mayGoOn }: Asking,
  { beatMs }: AnswerOptions,
): AsyncGenerator<Uint8Array, void, void> {
  const recheckMs = Math.min(beatMs, longestRecheckMs);
  let checkedAt = performance.now();
  for await (const chunk of chunks) {
    if (performance.now() - checkedAt > recheckMs) {
      if (!(await mayGoOn())) throw unauthenticated;
      checkedAt = performance.now();
    }
    yield chunk;
  }
}

/**
 * Passes on the chunks of an answer. After an error the connection is cut: the status was already sent, and the
 * client must not take the answer for complete.
 */
async function* untilBroken(
  first: IteratorResult<Uint8Array, void>,
  chunks: AsyncIterable<Uint8Array>,
  { onFailure, cutOff }: Asking,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    if (!first.done) yield first.value;
    yield* chunks;
  } catch (error) {
    if (error !== unauthenticated) onFailure(error);
    cutOff();
  }
}

/** Allows one request at a time per workspace. A second one is refused before its body is read. */
const oneAtATime = (path: string) => {
  const underWay = new Set<string>();
  return async <T>(workspace: string, work: () => Promise<T>): Promise<T> => {
    if (underWay.has(workspace)) {
      throw new PerdureError(
        'STORE_BUSY',
        `another request to ${path} is under way in this workspace: retry when it has ended`,
      );
    }
    underWay.add(workspace);
    try {
      return await work();
    } finally {
      underWay.delete(workspace);
    }
  };
};

/**
 * Answers one route. Permission is checked before the body is read, and the answer is stored under the idempotency
 * key.
 */
export const answering = (route: Route, options: AnswerOptions): ((asking: Asking) => Promise<Response>) => {
  const { query = {}, body, answer, status = 200, maxBytes = defaultMaxBytes, keyKeptBy = 'server' } = route;
  const Params = z.strictObject(route.params ?? {});
  const Query = z.strictObject(query);
  const hasJson = body !== undefined && body !== bytes;
  const alone = route.isOneAtATime && oneAtATime(route.path);
  const keepsAnswers = route.method !== 'GET' && keyKeptBy === 'server';

  const responseTo = (value: unknown): Response => {
    if (value instanceof Response) return value;
    if (!answer || answer === bytes || answer === stream) return new Response(null, { status: 204 });
    const text = jsonText(value);
    if (options.checksAnswers) answer.parse(JSON.parse(text));
    return new Response(text, { status, headers: { 'content-type': 'application/json' } });
  };

  const answerTo = async (asking: Asking, take: (chunk: Uint8Array) => void): Promise<Response> => {
    const { request, identity } = asking;
    const { headers } = request;
    const url = new URL(request.url);
    const runtime = options.runtime.as(identity);
    await runtime.check(route.verb);
    const asked = {
      params: parseInput('the path', Params, asking.params),
      query: parseInput('the query', Query, readQuery(url, query)),
      body: hasJson ? parseInput('the body', body, await readJson(request, maxBytes, take)) : undefined,
    };
    const key = headers.get('idempotency-key');
    const idempotencyKey = key === null ? undefined : parseInput('the header idempotency-key', CallersKey, key);
    const revoked = new AbortController();
    const signal = AbortSignal.any([request.signal, options.stopping, revoked.signal]);
    const content = untilRevoked(limited(request, maxBytes, route.keepsNoBody ? undefined : take), asking, options);
    const lasting = async (given: AsyncIterable<Uint8Array>) => {
      const chunks = untilRevoked(given, asking, options);
      return untilBroken(await chunks.next(), chunks, asking);
    };
    const events = streaming(asking, options, signal);
    const call: AnyCall = {
      ...asked,
      ...{ runtime, headers, idempotencyKey, signal, content, lasting, events, waiting: waiting(asking) },
    };
    const handle = () => route.handle(call as RouteCall<never, never, never>);
    const work = () =>
      whileKeyCounts(asking, options, revoked, alone ? () => alone(identity.workspace, handle) : handle);
    if (idempotencyKey === undefined || !keepsAnswers) return responseTo(await work());
    const of = `${route.name} ${url.pathname} ${headers.get('if-match') ?? ''}`;
    return responseTo(await runtime.once({ key: idempotencyKey, of, body: asked as never }, work as never));
  };
  return (asking) => options.bodies.during(asking.identity.workspace, (take) => answerTo(asking, take));
};
