import manifest from '../../../package.json' with { type: 'json' };
import type { Runtime } from '../../runtime.ts';
import { httpApp } from './app.ts';
import { addHealth, type Readings } from './health.ts';
import { type HttpServer, type ListenOptions, listenHttp, nameOfHost } from './listen.ts';
import type { Observer } from './observer.ts';
import { openApi } from './openapi.ts';
import { isLoopback } from './origin-check.ts';
import { docsPage } from './pages/docs-page.ts';
import { homePage } from './pages/home-page.ts';
import { routes } from './routes/index.ts';

export interface ServeOptions extends Pick<ListenOptions, 'drainMs' | 'timeouts'>, Partial<Readings> {
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
  readonly checksAnswers?: boolean;
}

const silent: Observer = { answered: () => {}, failed: () => {}, streams: () => {} };

/** Serves a runtime over HTTP. The runtime stays the caller's: stopping the server does not close it. */
export const serveHttp = async (runtime: Runtime, options: ServeOptions = {}): Promise<HttpServer> => {
  const { host = '127.0.0.1', port = 0, allowHosts = [], allowOrigins = [], drainMs, timeouts } = options;
  const stopping = new AbortController();
  const own = isLoopback(host) ? ['localhost', '127.0.0.1', '[::1]'] : [nameOfHost(host).toLowerCase()];
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
  const isReady = async (): Promise<boolean> => !stopping.signal.aborted && (await runtime.isReady());
  addHealth(app, { isReady, metrics: options.metrics });
  const onStop = () => stopping.abort();
  const server = await listenHttp(app.fetch, { host, port, drainMs, timeouts, onStop });
  url = server.url;
  return server;
};
