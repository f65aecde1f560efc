import type { z } from 'zod';
import type { Verb } from '../../core/runtime/permissions.ts';
import type { ScopedRuntime } from '../../core/runtime/scoped-runtime.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

/** Bytes in place of JSON; they are given to the handler as they come. */
export const bytes = Symbol('bytes');
/** Server-sent events. */
export const stream = Symbol('stream');

export type Shape = z.ZodRawShape;
type Primitive = string | number | boolean | null | undefined;
/** What the library gives is not to be changed. */
type ReadonlyDeep<T> = unknown extends T
  ? T
  : T extends Primitive
    ? T
    : T extends readonly (infer Each)[]
      ? readonly ReadonlyDeep<Each>[]
      : { readonly [Name in keyof T]: ReadonlyDeep<T[Name]> };

export type Values<S extends Shape> = z.infer<z.ZodObject<S>>;

/** What a handler is given: the runtime as the member who asks, and what was asked, checked. */
export interface RouteCall<Params, Query, Body> {
  readonly runtime: ScopedRuntime;
  readonly params: Params;
  readonly query: Query;
  readonly body: Body;
  readonly headers: Headers;
  readonly idempotencyKey?: string | undefined;
  /** Aborted when the client goes away, the server stops, or the key does not count any more. */
  readonly signal: AbortSignal;
  /** Of a body that is bytes. */
  readonly content: AsyncIterable<Uint8Array>;
  /** For what is answered piece by piece: it breaks off when something goes wrong, or the key does not count any more. */
  readonly lasting: (chunks: AsyncIterable<Uint8Array>) => Promise<AsyncIterable<Uint8Array>>;
  /** For what may wait without end: a key has a bounded number of waits and streams. */
  readonly waiting: <T>(work: () => Promise<T>) => Promise<T>;
  /** Answers with server-sent events. */
  readonly events: (source: EventSource) => Response;
}

/** What a stream of events is made of: frames in their order, read only as fast as the client takes them. */
export type EventSource = (signal: AbortSignal) => AsyncIterable<Frame>;

export interface Frame {
  readonly id?: string | undefined;
  readonly event: string;
  readonly data: unknown;
}

export interface RouteDefinition<P extends Shape, Q extends Shape, B extends z.ZodType, A extends z.ZodType> {
  readonly method: Method;
  /** As OpenAPI writes it: `/v1/sessions/{session}`. */
  readonly path: string;
  /** Its operation id. */
  readonly name: string;
  /** What it does, in the words of `permissions.ts`, which says who may. */
  readonly verb: Verb;
  readonly summary: string;
  readonly about?: string;
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B | typeof bytes;
  /** Of the body, when it is more than what JSON usually is. */
  readonly maxBytes?: number;
  /** Its body is read piece by piece, and has bounds of its own. */
  readonly keepsNoBody?: true;
  /** In a workspace: it takes so much of the server that several must not add up. */
  readonly isOneAtATime?: true;
  readonly status?: 200 | 201 | 202;
  /** Undefined: 204 without content. */
  readonly answer?: A | typeof bytes | typeof stream;
  /** In place of a stream, for who does not follow it. */
  readonly page?: z.ZodType;
  /** Who keeps an Idempotency-Key: the server with its answer, which is usual, or the library with what was done. Nobody where an answer holds a secret. */
  readonly keyKeptBy?: 'server' | 'library' | 'nobody';
  /** What is asked for by the tag of a state. */
  readonly condition?: 'if-match' | 'if-none-match';
  handle(
    call: RouteCall<Values<P>, Values<Q>, z.infer<B>>,
  ): Promise<ReadonlyDeep<z.output<A>> | Response> | Promise<void>;
}

export interface Route extends Omit<RouteDefinition<Shape, Shape, z.ZodType, z.ZodType>, 'handle'> {
  handle(call: RouteCall<never, never, never>): Promise<unknown>;
}

/** Lets the compiler know parameters and bodies inside `handle`, and forgets them outside. */
export const defineRoute = <
  P extends Shape = Record<never, never>,
  Q extends Shape = Record<never, never>,
  B extends z.ZodType = z.ZodUndefined,
  A extends z.ZodType = z.ZodUndefined,
>(
  route: RouteDefinition<P, Q, B, A>,
): Route => route as unknown as Route;

/** An answer with headers or a status of its own. */
export const answered = (value: unknown, headers: Record<string, string>, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json', ...headers } });
