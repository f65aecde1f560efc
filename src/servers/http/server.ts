import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import manifest from '../../../package.json' with { type: 'json' };
import type { Runtime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { httpApp, maxHeaders, type Observer } from './app.ts';
import { openApi } from './openapi.ts';
import { isLoopback } from './origin-check.ts';
import { docsPage } from './pages/docs-page.ts';
import { homePage } from './pages/home-page.ts';
import { routes } from './routes/index.ts';

export interface ServeOptions {
  /** 127.0.0.1 by default: only this machine can ask. */
  readonly host?: string;
  /** 0: one that is free. */
  readonly port?: number;
  /** Further names under which it may be asked. */
  readonly allowHosts?: readonly string[];
  /** Pages of other sites that may ask from a browser. */
  readonly allowOrigins?: readonly string[];
  /** Requests with one key. */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
  readonly beatMs?: number;
  readonly observer?: Partial<Observer>;
  /** Shown on the page: what the store is, without its password. */
  readonly store?: string;
  readonly worksHere?: boolean;
  /** What /metrics answers. */
  readonly metrics?: () => Promise<{ readonly type: string; readonly text: string }>;
  readonly checksAnswers?: boolean;
  /** How long requests under way may take when it stops. */
  readonly drainMs?: number;
  readonly timeouts?: Partial<Timeouts>;
}

/** After which a connection is closed. */
export interface Timeouts {
  /** Until the head of a request is there. */
  readonly headMs: number;
  /** Until all of it is there. */
  readonly requestMs: number;
  /** In which a client takes nothing of what waits for it. */
  readonly stallMs: number;
}

const defaultTimeouts: Timeouts = { headMs: 10_000, requestMs: 300_000, stallMs: 60_000 };

export interface HttpServer {
  readonly url: string;
  /** Takes no more requests, ends the streams and waits for what is under way; idempotent. */
  stop(): Promise<void>;
}

const silent: Observer = { answered: () => {}, failed: () => {}, streams: () => {} };
const headerBytes = 16 * 1024;
/** How often connections that have come to rest are closed when it stops. */
const idleMs = 20;

const listen = async (server: Server, host: string, port: number): Promise<number> => {
  const failed = once(server, 'error').then(([error]) => {
    throw error;
  });
  server.listen(port, host);
  try {
    await Promise.race([once(server, 'listening'), failed]);
  } catch (cause) {
    const { code } = cause as { code?: string };
    if (code === 'EADDRINUSE') {
      throw new PerdureError('INVALID_INPUT', `port ${port} is taken: give another with --port, or 0 for any`, {
        cause,
        details: { port },
      });
    }
    throw cause;
  }
  const address = server.address();
  return typeof address === 'object' && address ? address.port : port;
};

/** Serves a runtime over HTTP. The runtime stays the caller's: stopping the server does not close it. */
export const serveHttp = async (runtime: Runtime, options: ServeOptions = {}): Promise<HttpServer> => {
  const { host = '127.0.0.1', port = 0, allowHosts = [], allowOrigins = [], drainMs = 10_000 } = options;
  const { headMs, requestMs, stallMs } = { ...defaultTimeouts, ...options.timeouts };
  const stopping = new AbortController();
  const named = host.includes(':') ? `[${host}]` : host;
  const own = isLoopback(host) ? ['localhost', '127.0.0.1', '[::1]'] : [named.toLowerCase()];
  const rules = { hosts: [...own, ...allowHosts.map((name) => name.toLowerCase())], origins: allowOrigins };
  const app = httpApp({
    runtime,
    rules,
    rate: options.rate ?? { perSecond: 50, burst: 200 },
    beatMs: options.beatMs ?? 15_000,
    observer: { ...silent, ...options.observer },
    stopping: stopping.signal,
    checksAnswers: options.checksAnswers ?? false,
  });
  const document = openApi(routes, manifest.version);
  let url = '';
  app.get('/', () =>
    homePage({
      version: manifest.version,
      store: options.store ?? 'its own',
      agents: runtime.agents.list().map(({ name, version }) => `${name} ${version}`),
      worksHere: options.worksHere ?? false,
      address: url,
    }),
  );
  app.get('/v1/openapi.json', () => Response.json(document));
  app.get('/v1/docs', () => docsPage(document));
  app.get('/healthz', () => Response.json({ ok: true }));
  app.get('/readyz', async () => {
    const isReady = !stopping.signal.aborted && (await runtime.isReady());
    return Response.json({ ok: isReady }, { status: isReady ? 200 : 503 });
  });
  app.get('/metrics', async () => {
    const { type, text } = (await options.metrics?.()) ?? { type: 'text/plain', text: '' };
    return new Response(text, { headers: { 'content-type': type } });
  });
  const server = createAdaptorServer({
    fetch: app.fetch,
    serverOptions: {
      maxHeaderSize: headerBytes,
      headersTimeout: headMs,
      requestTimeout: requestMs,
      connectionsCheckingInterval: headMs / 2,
      keepAliveTimeout: 5000,
      insecureHTTPParser: false,
    },
  }) as Server;
  server.timeout = stallMs;
  server.on('request', (_, response) => {
    response.on('timeout', (socket: Socket) => {
      if (socket.writableLength > 0) socket.destroy(); // else we are the ones who take long
    });
  });
  server.maxHeadersCount = maxHeaders + 1;
  const bound = await listen(server, host, port);
  url = `http://${named}:${bound}`;
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    stopping.abort();
    const idle = setInterval(() => server.closeIdleConnections(), idleMs);
    const late = setTimeout(() => server.closeAllConnections(), drainMs);
    await closed;
    clearTimeout(late);
    clearInterval(idle);
  };
  return {
    url,
    stop: () => {
      stopped ??= stop();
      return stopped;
    },
  };
};
