import type { z } from 'zod';
import type { Verb } from '../../core/runtime/permissions.ts';
import type { ScopedRuntime } from '../../core/runtime/scoped-runtime.ts';
import { jsonBytes } from './json-text.ts';
import type { OwnVerifications } from './verifications.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Raw bytes instead of JSON; the handler reads them as they arrive. */
export const bytes = Symbol('bytes');
/** Server-sent events. */
export const stream = Symbol('stream');

export type Shape = z.ZodRawShape;
type Primitive = string | number | boolean | null | undefined;
/** Makes a type deeply readonly, like the library's results. */
type ReadonlyDeep<T> = unknown extends T
  ? T
  : T extends Primitive
    ? T
    : T extends readonly (infer Each)[]
      ? readonly ReadonlyDeep<Each>[]
      : { readonly [Name in keyof T]: ReadonlyDeep<T[Name]> };

export type Values<S extends Shape> = z.infer<z.ZodObject<S>>;

/** Input of a handler: the runtime scoped to the member, and the validated request. */
export interface RouteCall<Params, Query, Body> {
  readonly runtime: ScopedRuntime;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly headers: Headers;
  readonly idempotencyKey?: string | undefined;
  /** Aborts when the client disconnects, the server stops, or the key is no longer valid. */
  readonly signal: AbortSignal;
  /** Body of the request, for a route that accepts bytes. */
  readonly content: AsyncIterable<Uint8Array>;
  /** For an answer sent in chunks: cuts the connection on an error, or when the key is no longer valid. */
  readonly lasting: (chunks: AsyncIterable<Uint8Array>) => Promise<AsyncIterable<Uint8Array>>;
  /** For an answer in memory: the body of its response, which counts against the memory of answers until it is sent. */
  readonly held: (content: Uint8Array) => ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer>;
  /** Runs work of unlimited duration. It is counted against the limit of waits and streams that a key may have. */
  readonly waiting: <T>(work: () => Promise<T>) => Promise<T>;
  /** Verifications of large sessions, which run on after their request. */
  readonly verifications: OwnVerifications;
  /** Answers with server-sent events. */
  readonly events: (source: EventSource) => Promise<Response>;
}

/** Source of an event stream: yields frames in order, and is read only as fast as the client reads. */
export type EventSource = (signal: AbortSignal) => AsyncIterable<Frame>;

export interface Frame {
  readonly id?: string | undefined;
  readonly event: string;
  readonly data: unknown;
  /** Whether other streams send the same object in the same frame, so that it is encoded once for all of them. */
  readonly isShared?: true;
}

export interface RouteDefinition<P extends Shape, Q extends Shape, B extends z.ZodType, A extends z.ZodType> {
  readonly method: Method;
  /** Spelled as in OpenAPI: `/v1/sessions/{session}`. */
  readonly path: string;
  /** Operation id. */
  readonly name: string;
  /** The verb in `permissions.ts`, which determines who may call the route. */
  readonly verb: Verb;
  readonly summary: string;
  readonly about?: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B | typeof bytes;
  /** Maximum size of the body, where the usual limit for JSON is too small. */
  readonly maxBytes?: number;
  /** Set if the handler reads the body in chunks and limits its size itself. */
  readonly keepsNoBody?: true;
  /** Allows one request at a time per workspace, because several in parallel would overload the server. */
  readonly isOneAtATime?: true;
  readonly status?: 200 | 201 | 202;
  /** Schema of the answer. If undefined, the route answers 204 without content. */
  readonly answer?: A | typeof bytes | typeof stream;
  /** Schema of the JSON answer for clients that do not follow the stream. */
  readonly page?: z.ZodType;
  /**
   * Where the idempotency key of a request is stored: by the server with its answer (the default), or by the library
   * with the event. `nobody` stores none, because the answer contains a secret.
   */
  readonly keyKeptBy?: 'server' | 'library' | 'nobody';
  /** Conditional header that the route supports; its value is the ETag of a state. */
  readonly condition?: 'if-match' | 'if-none-match';
  handle(
    call: RouteCall<Values<P>, Values<Q>, z.infer<B>>,
  ): Promise<ReadonlyDeep<z.output<A>> | Response> | Promise<void>;
}

export interface Route extends Omit<RouteDefinition<Shape, Shape, z.ZodType, z.ZodType>, 'handle'> {
  handle(call: RouteCall<never, never, never>): Promise<unknown>;
}

/** Types the parameters and body inside `handle`, and erases these types outside. */
export const defineRoute = <
  P extends Shape = Record<never, never>,
  Q extends Shape = Record<never, never>,
  B extends z.ZodType = z.ZodUndefined,
  A extends z.ZodType = z.ZodUndefined,
>(
  route: RouteDefinition<P, Q, B, A>,
): Route => route as unknown as Route;

/** An answer with its own headers or status. */
export const answered = async (value: unknown, headers: Record<string, string>, status = 200): Promise<Response> =>
  new Response(await jsonBytes(value), { status, headers: { 'content-type': 'application/json', ...headers } });
