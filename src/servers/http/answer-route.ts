import { z } from 'zod';
import type { Identity } from '../../core/access/identity.ts';
import { eventLoop } from '../../core/ports/event-loop.ts';
import type { Runtime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { CallersKey } from '../../schema/idempotency-key.ts';
import { SessionId } from '../../schema/ids.ts';
import { parseInput } from '../../schema/parse-input.ts';
import type { BodyRoom } from './body-room.ts';
import { eventStream } from './event-stream.ts';
import { inPieces } from './in-pieces.ts';
import { jsonBytes } from './json-text.ts';
import { unauthenticated } from './problem.ts';
import { limited, readJson } from './read-body.ts';
import type { LongRead, ReadBudget } from './read-budget.ts';
import { readQuery } from './read-query.ts';
import { bytes, type EventSource, type Route, type RouteCall, stream } from './route.ts';
import type { Verifications } from './verifications.ts';

/** An authenticated request, and the callbacks that answering it needs. */
export interface Asking {
  readonly request: Request;
  readonly params: Readonly<Record<string, string>>;
  readonly identity: Identity;
  /** The id of the key that was used. */
  readonly key: string;
  /** Whether the key is still valid, with the same permissions. */
  readonly mayGoOn: () => Promise<boolean>;
  /** Reports an error after the answer has begun. */
  readonly onFailure: (error: unknown) => void;
  /** Destroys the connection, so that the client sees an incomplete answer. */
  readonly cutOff: () => void;
  /**
   * Counts a stream or a wait against the key's limit until the returned function is called. Fails when the key has
   * too many.
   */
  readonly open: () => Promise<() => void>;
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
  /** Limits the memory of large answers that their clients have not read yet. */
  readonly answers: BodyRoom;
  /** Limits reads that take long. */
  readonly reads: ReadBudget;
  readonly verifications: Verifications;
  /** Validates answers against their schemas; for tests. */
  readonly checksAnswers: boolean;
}

type AnyCall = RouteCall<unknown, unknown, unknown>;

const defaultMaxBytes = 1024 * 1024;

const streaming =
  (asking: Asking, { beatMs }: AnswerOptions, signal: AbortSignal) =>
  async (source: EventSource): Promise<Response> => {
    const close = await asking.open();
    asking.onStream(1);
    // A stream outlives its request, and its client reads it at any pace.
    return eventLoop.apart(() =>
      eventStream(source, {
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
      }),
    );
  };

const waiting =
  ({ open }: Asking) =>
  async <T>(work: () => Promise<T>): Promise<T> => {
    const close = await open();
    try {
      return await eventLoop.apart(work);
    } finally {
      close();
    }
  };

/**
 * Runs a read in slices. A read that takes long must be admitted, and it stops when nobody waits for it. A change is
 * never stopped, because part of it may have been written.
 */
const inSlices = async <T>(
  { identity: { workspace }, key }: Asking,
  { reads }: AnswerOptions,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> => {
  let long: LongRead | undefined;
  const admit = (): Promise<void> => {
    long = reads.enter({ workspace, key });
    return long.turn(signal);
  };
  try {
    return await eventLoop.during({ owner: workspace, signal, admit, freeMs: reads.limits.freeMs }, work);
  } finally {
    long?.leave();
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
  onEnd: () => void,
): AsyncGenerator<Uint8Array, void, void> {
  try {
    if (!first.done) yield first.value;
    yield* chunks;
  } catch (error) {
    if (error !== unauthenticated) onFailure(error);
    cutOff();
  } finally {
    onEnd();
  }
}

/** Answers up to this size are not counted, because the rate of requests bounds them. */
const smallAnswerBytes = 256 * 1024;

/** Counts a large answer until its client has read it. A client that asks without reading could fill the memory. */
const holding =
  ({ request, identity: { workspace } }: Asking, { answers }: AnswerOptions, signal: AbortSignal) =>
  (content: Uint8Array): ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> => {
    if (content.length <= smallAnswerBytes || request.method === 'HEAD') return content as Uint8Array<ArrayBuffer>;
    const release = answers.hold(workspace, content.length);
    signal.addEventListener('abort', release, { once: true });
    return inPieces(content, release);
  };

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

  const responseTo = async (value: unknown, held: RouteCall<never, never, never>['held']): Promise<Response> => {
    if (value instanceof Response) return value;
    if (!answer || answer === bytes || answer === stream) return new Response(null, { status: 204 });
    const content = await jsonBytes(value);
    if (options.checksAnswers) answer.parse(JSON.parse(content.toString()));
    return new Response(held(content), {
      status,
      headers: { 'content-type': 'application/json', 'content-length': String(content.length) },
    });
  };

  const answerTo = async (given: Asking, take: (chunk: Uint8Array) => void): Promise<Response> => {
    const { request, identity } = given;
    const { headers } = request;
    const url = new URL(request.url);
    const runtime = options.runtime.as(identity);
    await runtime.check(route.verb);
    const asked = {
      params: parseInput('the path', Params, given.params),
      query: parseInput('the query', Query, readQuery(url, query)),
      body: hasJson ? parseInput('the body', body, await readJson(request, maxBytes, take)) : undefined,
    };
    const { session } = asked.params as { readonly session?: string };
    const mustSee = async (): Promise<void> => {
      if (session !== undefined) await runtime.sessions.get(session);
    };
    /** Fails when the caller no longer sees the session of the path. */
    const mayGoOn = async (): Promise<boolean> => {
      if (!(await given.mayGoOn())) return false;
      await mustSee();
      return true;
    };
    const asking = { ...given, mayGoOn };
    const key = headers.get('idempotency-key');
    const idempotencyKey = key === null ? undefined : parseInput('the header idempotency-key', CallersKey, key);
    const revoked = new AbortController();
    const signal = AbortSignal.any([request.signal, options.stopping, revoked.signal]);
    const content = untilRevoked(limited(request, maxBytes, route.keepsNoBody ? undefined : take), asking, options);
    // Its client reads it at any pace, so it counts like a stream.
    const lasting = async (source: AsyncIterable<Uint8Array>) => {
      const close = await asking.open();
      let isOpen = true;
      const end = (): void => {
        if (isOpen) close();
        isOpen = false;
      };
      signal.addEventListener('abort', end, { once: true });
      const chunks = untilRevoked(source, asking, options);
      try {
        return untilBroken(await chunks.next(), chunks, asking, end);
      } catch (error) {
        end();
        throw error;
      }
    };
    const held = holding(asking, options, signal);
    const events = streaming(asking, options, signal);
    const verifications = options.verifications.of({ workspace: identity.workspace, key: asking.key });
    const call: AnyCall = {
      ...asked,
      verifications,
      ...{ runtime, headers, idempotencyKey, signal, content, lasting, held, events, waiting: waiting(asking) },
    };
    const handle = () => route.handle(call as RouteCall<never, never, never>);
    const work = () =>
      whileKeyCounts(asking, options, revoked, alone ? () => alone(identity.workspace, handle) : handle);
    if (route.method === 'GET') return inSlices(asking, options, signal, async () => responseTo(await work(), held));
    return eventLoop.during({ owner: identity.workspace }, async () => {
      if (idempotencyKey === undefined || !keepsAnswers) return responseTo(await work(), held);
      // A kept answer must not show a session that the caller no longer sees.
      await mustSee();
      const of = `${route.name} ${url.pathname} ${headers.get('if-match') ?? ''}`;
      let isRepeated = true;
      const workOnce = () => {
        isRepeated = false;
        return work();
      };
      const kept = await runtime.once({ key: idempotencyKey, of, body: asked as never }, workOnce as never);
      const opened = isRepeated ? SessionId.safeParse(Object(kept).id).data : undefined;
      if (opened) await runtime.sessions.get(opened);
      return responseTo(kept, held);
    });
  };
  return (asking) => options.bodies.during(asking.identity.workspace, (take) => answerTo(asking, take));
};
