import manifest from '../../../package.json' with { type: 'json' };
import type { Runtime } from '../../runtime.ts';
import { timerMs } from '../../schema/timer-limit.ts';
import { addHealth } from './add-health.ts';
import { httpApp } from './app.ts';
import { cachedResponse } from './cached-response.ts';
import { type HttpServer, type ListenOptions, listenHttp, nameOfHost } from './listen.ts';
import type { Observer, Readings } from './observer.ts';
import { openApi } from './openapi.ts';
import { isLoopback } from './origin-check.ts';
import { docsPage } from './pages/docs-page.ts';
import { homePage } from './pages/home-page.ts';
import type { Rate } from './rate-limit.ts';
import { routes } from './routes/index.ts';

export interface ServeOptions extends Pick<ListenOptions, 'drainMs' | 'timeouts'>, Partial<Readings> {
  /** Where to listen. At a loopback address only this machine can ask. */
  readonly host?: string;
  /** 0: one that is free. */
  readonly port?: number;
  /** Further names under which it may be asked. */
  readonly allowHosts?: readonly string[];
  /** Pages of other sites that may ask from a browser. */
  readonly allowOrigins?: readonly string[];
  /** Requests with one key. */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
  /** Requests with all keys of a workspace together; four times `rate`, unless it is given. */
  readonly workspaceRate?: { readonly perSecond: number; readonly burst: number };
  /** Streams of events, and waits for runs, that one key may have open. */
  readonly streamsPerKey?: number;
  /** Of bodies of requests under way, how much is kept in memory. */
  readonly bodies?: { readonly workspaceBytes: number; readonly serverBytes: number };
  /** How often a stream shows that it lives, and asks whether its key still counts. */
  readonly beatMs?: number;
  /** Told of what it does, for logs and metrics. */
  readonly observer?: Partial<Observer>;
  /** Shown on the page: what the store is, without its password. */
  readonly store?: string;
  /** Shown on the page: whether a worker is in this process. */
  readonly worksHere?: boolean;
  /** Checks answers against their schemas; for tests. */
  readonly checksAnswers?: boolean;
}

/** So that several keys of a workspace may be busy at once, and many of them are no way around the rate of one. */
const forWorkspace = ({ perSecond, burst }: Rate): Rate => ({ perSecond: 4 * perSecond, burst: 4 * burst });
const defaultRate: Rate = { perSecond: 50, burst: 200 };

export const serveDefaults = {
  host: '127.0.0.1',
  port: 0,
  rate: defaultRate,
  workspaceRate: forWorkspace(defaultRate),
  streamsPerKey: 100,
  bodies: { workspaceBytes: 128 * 1024 * 1024, serverBytes: 512 * 1024 * 1024 },
  beatMs: 15_000,
  store: 'its own',
  worksHere: false,
} as const satisfies ServeOptions;

const silent: Observer = { answered: () => {}, failed: () => {}, streams: () => {} };

/** Serves a runtime over HTTP. The runtime stays the caller's: stopping the server does not close it. */
export const serveHttp = async (runtime: Runtime, options: ServeOptions = {}): Promise<HttpServer> => {
  const { host = serveDefaults.host, port = serveDefaults.port, drainMs, timeouts } = options;
  const { allowHosts = [], allowOrigins = [], observer, metrics } = options;
  const { store = serveDefaults.store, worksHere = serveDefaults.worksHere } = options;
  const { rate = serveDefaults.rate, streamsPerKey = serveDefaults.streamsPerKey } = options;
  const { workspaceRate = forWorkspace(rate), bodies = serveDefaults.bodies } = options;
  const { beatMs = serveDefaults.beatMs, checksAnswers = false } = options;
  const stopping = new AbortController();
  const own = isLoopback(host) ? ['localhost', '127.0.0.1', '[::1]'] : [nameOfHost(host).toLowerCase()];
  const rules = { hosts: [...own, ...allowHosts.map((name) => name.toLowerCase())], origins: allowOrigins };
  const app = httpApp({
    runtime,
    rules,
    rate,
    workspaceRate,
    streamsPerKey,
    bodies,
    beatMs: timerMs(beatMs),
    observer: { ...silent, ...observer },
    stopping: stopping.signal,
    checksAnswers,
  });
  const document = openApi(routes, manifest.version);
  let url = '';
  app.get('/', () =>
    homePage({
      version: manifest.version,
      store,
      agents: runtime.agents.list().map(({ name, version }) => `${name} ${version}`),
      worksHere,
      address: url,
    }),
  );
  const kept = {
    '/v1/openapi.json': cachedResponse(() => Response.json(document)),
    '/v1/docs': cachedResponse(() => docsPage(document, { address: url, agent: runtime.agents.list()[0]?.name })),
  };
  for (const [path, answer] of Object.entries(kept)) app.get(path, ({ req }) => answer(req.raw.headers));
  const isReady = async (): Promise<boolean> => !stopping.signal.aborted && (await runtime.isReady());
  addHealth(app, { isReady, metrics });
  const onStop = () => stopping.abort();
  const server = await listenHttp(app.fetch, { host, port, drainMs, timeouts, onStop });
  url = server.url;
  return server;
};
