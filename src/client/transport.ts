import { pause } from '../concurrency/pause.ts';
import { isPerdureError, PerdureError } from '../schema/error.ts';
import { parseKey, parseServer, type Query, queryText } from './address.ts';
import { type Failure, failureOf, unavailable } from './problem.ts';
import { chunksOf, readBounded, TooLarge } from './read-bounded.ts';
import { retryDelayMs } from './retry-delay.ts';

export interface ConnectOptions {
  /** Address of the server, such as http://127.0.0.1:4730. */
  readonly url: string;
  /**
   * API key of a member, created by `perdure keys create`. A function returns a current token, for a browser: it is
   * called before the first request, and again when the server no longer accepts the token.
   */
  readonly key: string | (() => string | Promise<string>);
  /** Replaces the global `fetch`. */
  readonly fetch?: typeof fetch | undefined;
}

export interface Asked {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly query?: Query;
  /** Request body, sent as JSON. */
  readonly body?: unknown;
  /** Request body, sent unchanged. */
  readonly content?: Uint8Array | string | AsyncIterable<Uint8Array> | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** The server performs requests with the same key only once, so a retry is safe. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Retries for as long as the failure is temporary, without a limit on the number of attempts. */
  readonly isPatient?: boolean;
}

/** Sends requests with the API key to one server. */
export interface Transport {
  /** Returns the parsed JSON of the answer. */
  json<T>(path: string, asked?: Asked): Promise<T>;
  /** Returns the parsed JSON and the ETag of the answer. */
  tagged<T>(path: string, asked?: Asked): Promise<{ readonly value: T; readonly tag: string | undefined }>;
  /** Sends a request whose answer has no body. */
  done(path: string, asked: Asked): Promise<void>;
  bytes(path: string, asked?: Asked): Promise<Uint8Array>;
  /** Yields bytes of any total size as they arrive. */
  chunks(path: string, asked?: Asked): AsyncGenerator<Uint8Array, void, void>;
  /** Opens a stream of events and returns the response without reading its body. */
  events(path: string, asked?: Asked): Promise<Response>;
}

const maxAttempts = 7;
const maxAnswerBytes = 128 * 1024 * 1024;
const keyBytes = 16;

export const freshKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(keyBytes)), (byte) => byte.toString(16).padStart(2, '0')).join('');

const expectType = (response: Response, expected: string): void => {
  const type = response.headers.get('content-type') ?? 'nothing';
  if (type.startsWith(expected)) return;
  throw unavailable(`no Perdure server at this address: it answered with ${type} instead of ${expected}`);
};

const readJson = async (response: Response): Promise<unknown> => {
  expectType(response, 'application/json');
  return JSON.parse(new TextDecoder().decode(await readBounded(response, maxAnswerBytes)));
};

const streamOf = (chunks: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> => {
  const steps = chunks[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await steps.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: async () => void (await steps.return?.()),
  });
};

/** Copies the content now, so that a retry sends the same bytes even if the caller modifies the object later. */
const withFixedContent = ({ body, content, ...asked }: Asked): Asked => {
  if (body !== undefined) {
    const headers = { 'content-type': 'application/json', ...asked.headers };
    return { ...asked, content: JSON.stringify(body), headers };
  }
  return { ...asked, content: content instanceof Uint8Array ? new Uint8Array(content) : content };
};

const contentOf = ({ content }: Asked): RequestInit & { readonly duplex?: 'half' } => {
  if (content === undefined) return {};
  const headers = { 'content-type': 'application/octet-stream' };
  if (typeof content === 'string' || content instanceof Uint8Array)
    return { body: content as NonNullable<RequestInit['body']>, headers };
  return { body: streamOf(content), headers, duplex: 'half' };
};

/** The error that TLS reports when the server speaks plain HTTP. */
const notTls = /^ERR_SSL_(WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG)$/;

/** Returns the error for an answer that did not arrive, or arrived only in part. */
const connectionError = (server: string, cause: unknown): PerdureError => {
  const { message, cause: inner } = cause instanceof Error ? cause : new Error(String(cause));
  const code = (inner as { code?: unknown } | undefined)?.code;
  const why = typeof code === 'string' ? code : message;
  const advice = notTls.test(why)
    ? `it does not speak TLS: try ${server.replace(/^https:/, 'http:')}`
    : 'check that the server runs and can be reached';
  return unavailable(`${server} does not answer (${why}): ${advice}`, { cause });
};

const readingFailure = (server: string, cause: unknown): Failure => {
  if (cause instanceof PerdureError) return { error: cause, isPassing: false };
  const isWrong = cause instanceof TooLarge || cause instanceof SyntaxError;
  if (!isWrong) return { error: connectionError(server, cause), isPassing: true };
  const error = unavailable(`unexpected answer from the server: ${cause.message}`, { cause });
  return { error, isPassing: false };
};

/** A stream can be sent only once: a second attempt would continue where the first stopped. */
const isStream = (content: Asked['content']): boolean =>
  typeof content === 'object' && !(content instanceof Uint8Array);

const mayRepeat = (
  { error, isPassing }: Failure,
  { method = 'GET', idempotencyKey, content }: Asked,
  attempt: number,
) => {
  if (isStream(content)) return false;
  if (isPerdureError(error, 'RATE_LIMITED')) return true; // the server did not begin the request
  if (method !== 'GET' && method !== 'PUT' && idempotencyKey === undefined) return false;
  return isPassing || (attempt > 1 && isPerdureError(error, 'KEY_IN_USE')); // the first attempt may be under way
};

/**
 * Adds an idempotency key to updates and removals, so that they can be retried. Their answers contain no secret, so
 * the server can store them.
 */
const withKey = (asked: Asked): Asked => {
  if (asked.method !== 'PATCH' && asked.method !== 'DELETE') return asked;
  return { ...asked, idempotencyKey: asked.idempotencyKey ?? freshKey() };
};

/** If the answer to a change did not arrive, adds to the error that the outcome is unknown. */
const withOutcome = (error: unknown, { method = 'GET' }: Asked): unknown =>
  method !== 'GET' && isPerdureError(error, 'SERVER_UNAVAILABLE') && error.cause !== undefined
    ? unavailable(`${error.message} Whether the change was made is unknown: look before repeating it.`, error)
    : error;

const apiPath = '/v1';

/** Adds advice when the address of the server ends with `/v1`: all paths of the API already begin with it. */
const withAdvice = (error: unknown, server: string): unknown =>
  isPerdureError(error, 'ROUTE_NOT_FOUND') && server.endsWith(apiPath)
    ? new PerdureError(error.code, `there is nothing at ${server}: leave ${apiPath} out of the server address`, {
        details: error.details,
        cause: error,
      })
    : error;

/** Rejects `.` and `..` as path segments: even percent-encoded, they would lead to another route. */
const refuseDotSegments = (path: string): void => {
  if (!/\/\.{1,2}(?:\/|$)/.test(path)) return;
  throw new PerdureError('INVALID_INPUT', 'a name in a request must not be . or ..');
};

/** The key of the options. One that a function returns is kept until the server rejects it. */
const currentKey = (key: ConnectOptions['key']) => {
  const headerOf = (text: string): string => `Bearer ${parseKey(text)}`;
  if (typeof key !== 'function') {
    const header = headerOf(key);
    return { read: async () => header, renew: () => false };
  }
  let current: Promise<string> | undefined;
  return {
    read: (): Promise<string> => {
      const asked = current ?? Promise.resolve().then(key).then(headerOf);
      current = asked;
      asked.catch(() => {
        if (current === asked) current = undefined;
      });
      return asked;
    },
    renew: (): boolean => {
      current = undefined;
      return true;
    },
  };
};

export const transportTo = (options: ConnectOptions): Transport => {
  const server = parseServer(options.url);
  const authorizationOf = currentKey(options.key);
  const send = options.fetch ?? ((...request: Parameters<typeof fetch>) => fetch(...request));

  const attempt = async <T>(path: string, asked: Asked, read: (response: Response) => Promise<T>) => {
    const { method = 'GET', query, idempotencyKey, signal } = asked;
    const { headers, ...content } = contentOf(asked);
    const authorization = await authorizationOf.read();
    try {
      const response = await send(`${server}${path}${queryText(query)}`, {
        method,
        ...content,
        headers: {
          authorization,
          ...(headers as Record<string, string>),
          ...asked.headers,
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        redirect: 'manual',
        credentials: 'omit',
        cache: 'no-store',
        ...(signal && { signal }),
      });
      return response.ok ? { value: await read(response) } : await failureOf(response);
    } catch (cause) {
      if (signal?.aborted) throw cause;
      return readingFailure(server, cause);
    }
  };

  const ask = async <T>(path: string, given: Asked, read: (response: Response) => Promise<T>): Promise<T> => {
    refuseDotSegments(path);
    const asked = withKey(withFixedContent(given));
    let isRenewed = false;
    for (let count = 1; ; count++) {
      const tried = await attempt(path, asked, read);
      if ('value' in tried) return tried.value;
      if (!isRenewed && isPerdureError(tried.error, 'UNAUTHENTICATED') && authorizationOf.renew()) {
        isRenewed = true;
        continue;
      }
      const isOver = count >= maxAttempts && !asked.isPatient;
      if (isOver || !mayRepeat(tried, asked, count)) throw withAdvice(withOutcome(tried.error, asked), server);
      await pause(retryDelayMs(count, tried.waitMs), { signal: asked.signal });
    }
  };

  return {
    json: <T>(path: string, asked: Asked = {}) => ask(path, asked, readJson) as Promise<T>,
    tagged: <T>(path: string, asked: Asked = {}) =>
      ask(path, asked, async (response) => ({
        value: (await readJson(response)) as T,
        tag: response.headers.get('etag') ?? undefined,
      })),
    done: (path, asked) => ask(path, asked, async (response) => void (await response.body?.cancel())),
    bytes: (path, asked = {}) =>
      ask(path, asked, (response) => {
        expectType(response, 'application/octet-stream');
        return readBounded(response, maxAnswerBytes);
      }),
    chunks: async function* (path, asked = {}) {
      const response = await ask(path, asked, async (begun) => {
        expectType(begun, 'application/octet-stream');
        return begun;
      });
      try {
        yield* chunksOf(response);
      } catch (cause) {
        throw connectionError(server, cause);
      }
    },
    events: (path, asked = {}) =>
      ask(path, { ...asked, headers: { accept: 'text/event-stream', ...asked.headers } }, async (begun) => {
        expectType(begun, 'text/event-stream');
        return begun;
      }),
  };
};
