import { randomUUID } from 'node:crypto';
import type { HttpBindings } from '@hono/node-server';
import { Hono } from 'hono';
import { METHOD_NAME_ALL } from 'hono/router';
import type { Runtime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { SessionId } from '../../schema/ids.ts';
import { type AnswerOptions, answering } from './answer-route.ts';
import { corsHeaders, type OriginRules, refuseForeign } from './origin-check.ts';
import { problemResponse, unauthenticated } from './problem.ts';
import { type Rate, RateLimit } from './rate-limit.ts';
import { refuseOddTarget } from './request-target.ts';
import { routes } from './routes/index.ts';

/** What the server tells of its work, for logs, metrics and spans. */
export interface Observer {
  answered(request: Answered): void;
  failed(error: unknown, request: string): void;
  streams(change: 1 | -1): void;
}

export interface Answered {
  readonly id: string;
  readonly method: string;
  /** The route, not the address: that may hold names. */
  readonly route: string;
  readonly status: number;
  readonly durationMs: number;
  readonly session?: string | undefined;
  readonly workspace?: string | undefined;
  readonly key?: string | undefined;
}

export interface AppOptions extends AnswerOptions {
  readonly rules: OriginRules;
  readonly rate: Rate;
  readonly observer: Observer;
}

type Authenticated = NonNullable<Awaited<ReturnType<Runtime['authenticate']>>>;

/** For the log alone: nobody is there to be answered. */
const leftEarly = new PerdureError('INVALID_INPUT', 'the client has closed the connection before it was answered');

const tokenOf = (headers: Headers): string | undefined => {
  const [, token] = /^Bearer (pdk_[\x21-\x7e]{1,500})$/i.exec(headers.get('authorization') ?? '') ?? [];
  return token;
};

interface Variables {
  readonly requestId: string;
  readonly route?: string;
  readonly session?: string | undefined;
  readonly who?: Authenticated;
}
type Env = { readonly Variables: Variables; readonly Bindings: HttpBindings };

const honoPath = (path: string): string => path.replace(/\{(\w+)\}/g, ':$1');

const securityHeaders = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
  'x-frame-options': 'DENY',
};

const requestId = (headers: Headers): string => {
  const given = headers.get('x-request-id');
  return given && /^[\w.-]{8,100}$/.test(given) ? given : randomUUID();
};

/** Of one request. The server is to keep one more, so that nothing is dropped without a word. */
export const maxHeaders = 100;

const refuseFlood = ({ rawHeaders }: HttpBindings['incoming']): void => {
  if (rawHeaders.length <= 2 * maxHeaders) return;
  throw new PerdureError('INVALID_INPUT', `the request has more than ${maxHeaders} headers`);
};

/** Everything that is served, as one function from requests to responses. */
export const httpApp = (options: AppOptions): Hono<Env> => {
  const { runtime, observer, rules } = options;
  const byKey = new RateLimit(options.rate);
  const app = new Hono<Env>();

  const identify = async (headers: Headers): Promise<Authenticated> => {
    const token = tokenOf(headers);
    const found = token === undefined ? undefined : await runtime.authenticate(token);
    if (!found) throw unauthenticated;
    return found;
  };

  const limitRate = ({ identity, key }: Authenticated): void => {
    const waitSeconds = byKey.take(`${identity.workspace}/${key.id}`);
    if (waitSeconds === undefined) return;
    throw new PerdureError('RATE_LIMITED', `too many requests with this key: try again in ${waitSeconds} s`, {
      details: { retryAfterSeconds: waitSeconds },
    });
  };

  app.use(async (context, next) => {
    const began = performance.now();
    const request = context.req.raw;
    const id = requestId(request.headers);
    context.set('requestId', id);
    try {
      refuseForeign(request, rules);
      refuseFlood(context.env.incoming);
      refuseOddTarget(context.env.incoming.url ?? '');
      if (request.method === 'OPTIONS') context.res = new Response(null, { status: 204 });
      else await next();
    } catch (error) {
      context.res = failure(error, request, id);
    }
    if (request.method === 'HEAD') await context.res.body?.cancel();
    const { status } = context.res;
    for (const [name, value] of Object.entries({ ...securityHeaders, ...corsHeaders(request, rules) })) {
      context.res.headers.set(name, value);
    }
    context.res.headers.set('x-request-id', id);
    const who = context.get('who');
    observer.answered({
      id,
      method: request.method,
      route: context.get('route') ?? 'none',
      status,
      durationMs: performance.now() - began,
      session: context.get('session'),
      workspace: who?.identity.workspace,
      key: who?.key.id,
    });
  });

  /** What can be asked of an address, as the header `Allow` says it; empty where there is nothing. */
  const methodsAt = (address: string): string => {
    const here = app.routes.filter(
      ({ method, path }) =>
        method !== METHOD_NAME_ALL && new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(address),
    );
    return [...new Set(here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(', ');
  };

  const failure = (thrown: unknown, { signal }: Request, id: string): Response => {
    const error = signal.aborted && !(thrown instanceof PerdureError) ? leftEarly : thrown;
    const { retryAfterSeconds: retryAfter, allow } = error instanceof PerdureError ? error.details : {};
    if (!(error instanceof PerdureError)) observer.failed(error, id);
    return problemResponse(error, id, {
      ...(retryAfter !== undefined && { 'retry-after': String(retryAfter) }),
      ...(allow !== undefined && { allow: String(allow) }),
      ...(error === unauthenticated && { 'www-authenticate': 'Bearer realm="perdure"' }),
    });
  };

  for (const route of routes) {
    const answer = answering(route, options);
    app.on(route.method, honoPath(route.path), async (context) => {
      const request = context.req.raw;
      context.set('route', route.path);
      // What is no id may be anything, and does not belong into a log.
      context.set('session', SessionId.safeParse(context.req.param('session')).data);
      const who = await identify(request.headers);
      context.set('who', who);
      limitRate(who);
      return answer({
        request,
        params: context.req.param(),
        identity: who.identity,
        mayGoOn: async () => (await runtime.authenticate(tokenOf(request.headers) ?? '')) !== undefined,
        cutOff: () => void context.env.outgoing.destroy(),
        onFailure: (error) => observer.failed(error, context.get('requestId')),
        onStream: observer.streams,
      });
    });
  }
  app.onError((error, context) => failure(error, context.req.raw, context.get('requestId')));
  app.notFound((context) => {
    const allow = methodsAt(new URL(context.req.url).pathname);
    const error = allow
      ? new PerdureError('METHOD_NOT_ALLOWED', `${context.req.method} is not done here, but ${allow}`, {
          details: { allow },
        })
      : new PerdureError('ROUTE_NOT_FOUND', 'there is nothing here: /v1/openapi.json says what there is');
    return failure(error, context.req.raw, context.get('requestId'));
  });
  return app;
};
