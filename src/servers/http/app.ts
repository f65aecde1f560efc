import { randomUUID } from 'node:crypto';
import type { BlockList } from 'node:net';
import type { HttpBindings } from '@hono/node-server';
import { type Context, Hono } from 'hono';
import { METHOD_NAME_ALL } from 'hono/router';
import type { Authenticated } from '../../core/access/authenticate.ts';
import { eventLoop } from '../../core/ports/event-loop.ts';
import { PerdureError } from '../../schema/error.ts';
import { SessionId } from '../../schema/ids.ts';
import { type AnswerOptions, answering } from './answer-route.ts';
import { type BodyLimits, BodyRoom } from './body-room.ts';
import { clientAddress } from './client-address.ts';
import { type KeyCheck, type KeyLimits, keyCheck } from './key-check.ts';
import type { Observer } from './observer.ts';
import { corsHeaders, type OriginRules, refuseForeign } from './origin-check.ts';
import { problemResponse } from './problem.ts';
import { ReadBudget, type ReadLimits } from './read-budget.ts';
import { refuseFlood, refuseOddEncoding } from './refuse-flood.ts';
import { refuseOddTarget } from './request-target.ts';
import type { Route } from './route.ts';
import { routes } from './routes/index.ts';
import { type StreamQuotas, streamQuotas } from './stream-quotas.ts';
import { Verifications } from './verifications.ts';

export interface AppOptions extends Omit<AnswerOptions, 'bodies' | 'answers' | 'reads' | 'verifications'>, KeyLimits {
  readonly rules: OriginRules;
  readonly bodies: BodyLimits;
  /** Proxies whose `x-forwarded-for` counts. */
  readonly proxies: BlockList;
  readonly reads: ReadLimits;
  readonly observer: Observer;
}

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

/** Written to the log only, because the client has disconnected and receives no answer. */
const leftEarly = new PerdureError('INVALID_INPUT', 'the client closed the connection before the answer');

const failure = (thrown: unknown, context: Context<Env>, observer: Observer): Response => {
  const { signal } = context.req.raw;
  const id = context.get('requestId');
  const error = signal.aborted && !(thrown instanceof PerdureError) ? leftEarly : thrown;
  if (!(error instanceof PerdureError)) observer.failed(error, id);
  return problemResponse(error, id);
};

type AddressOf = (context: Context<Env>) => string;

const refuseMalformed = ({ req, env: { incoming, outgoing } }: Context<Env>, rules: OriginRules): void => {
  refuseOddEncoding(incoming, outgoing);
  refuseForeign(req.raw, rules);
  refuseFlood(incoming);
  refuseOddTarget(incoming.url ?? '');
};

const reportAnswered = (context: Context<Env>, observer: Observer, durationMs: number): void => {
  const who = context.get('who');
  observer.answered({
    id: context.get('requestId'),
    method: context.req.method,
    route: context.get('route') ?? 'none',
    status: context.res.status,
    durationMs,
    session: context.get('session'),
    workspace: who?.identity.workspace,
    key: who?.key.id,
  });
};

/** Value of the header `Allow`: the methods that this address supports. Empty for an unknown address. */
const methodsAt = ({ routes: served }: Hono<Env>, address: string): string => {
  const here = served.filter(
    ({ method, path }) => method !== METHOD_NAME_ALL && new RegExp(`^${path.replace(/:\w+/g, '[^/]+')}$`).test(address),
  );
  return [...new Set(here.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))].join(', ');
};

const optionsAt = (allow: string): Response =>
  new Response(null, { status: 204, ...(allow && { headers: { allow } }) });

const nothingHere = (method: string, allow: string): PerdureError =>
  allow
    ? new PerdureError('METHOD_NOT_ALLOWED', `${method} is not supported here; allowed: ${allow}`, {
        details: { allow },
      })
    : new PerdureError('ROUTE_NOT_FOUND', 'no such route: /v1/openapi.json lists all routes');

interface Limits {
  readonly keys: KeyCheck;
  readonly quotas: StreamQuotas;
}

const serveRoute = (
  app: Hono<Env>,
  route: Route,
  { keys, quotas }: Limits,
  options: AnswerOptions,
  observer: Observer,
  addressOf: AddressOf,
): void => {
  const answer = answering(route, options);
  app.on(route.method, honoPath(route.path), async (context) => {
    const request = context.req.raw;
    context.set('route', route.path);
    // An invalid id may contain anything, so it must not reach the log.
    context.set('session', SessionId.safeParse(context.req.param('session')).data);
    const who = await keys.mustFind(request.headers, addressOf(context));
    context.set('who', who);
    keys.limitRate(who);
    return answer({
      request,
      params: context.req.param(),
      identity: who.identity,
      key: who.key.id,
      mayGoOn: () => keys.isValid(who, request.headers),
      cutOff: () => void context.env.outgoing.destroy(),
      onFailure: (error) => observer.failed(error, context.get('requestId')),
      open: async () => {
        const closes = [await quotas.open(who)];
        try {
          closes.push(keys.open(who));
        } catch (error) {
          for (const close of closes) close();
          throw error;
        }
        return () => {
          for (const close of closes) close();
        };
      },
      onStream: observer.streams,
    });
  });
};

/** The whole server as one function from requests to responses. */
export const httpApp = (options: AppOptions): Hono<Env> => {
  const { runtime, observer, rules } = options;
  const keys = keyCheck(runtime, options, observer.wrongKey);
  const addressOf: AddressOf = ({ req, env: { incoming } }) =>
    clientAddress(incoming.socket.remoteAddress, req.header('x-forwarded-for'), options.proxies);
  const streams = streamQuotas(runtime);
  const reads = new ReadBudget(options.reads);
  const verifications = new Verifications(reads, options.stopping);
  const answers = {
    ...options,
    bodies: new BodyRoom(options.bodies),
    answers: new BodyRoom(options.bodies),
    reads,
    verifications,
  };
  const app = new Hono<Env>();
  app.use(async (context, next) => {
    const began = performance.now();
    const request = context.req.raw;
    const id = requestId(request.headers);
    context.set('requestId', id);
    try {
      refuseMalformed(context, rules);
      if (request.method === 'OPTIONS') context.res = optionsAt(methodsAt(app, new URL(request.url).pathname));
      else await eventLoop.during({}, next);
    } catch (error) {
      context.res = failure(error, context, observer);
    }
    if (request.method === 'HEAD') await context.res.body?.cancel();
    const headers = { ...securityHeaders, ...corsHeaders(request, rules), 'x-request-id': id };
    for (const [name, value] of Object.entries(headers)) context.res.headers.set(name, value);
    reportAnswered(context, observer, performance.now() - began);
  });
  for (const route of routes) serveRoute(app, route, { keys, quotas: streams }, answers, observer, addressOf);
  app.onError((error, context) => failure(error, context, observer));
  app.notFound((context) => {
    const allow = methodsAt(app, new URL(context.req.url).pathname);
    return failure(nothingHere(context.req.method, allow), context, observer);
  });
  return app;
};
