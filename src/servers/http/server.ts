import manifest from '../../../package.json' with { type: 'json' };
import { defaultFreeMs } from '../../core/ports/event-loop.ts';
import type { Runtime } from '../../runtime.ts';
import { timerMs } from '../../schema/timer-limit.ts';
import { addHealth, type Obstacle, probePaths } from './add-health.ts';
import { httpApp } from './app.ts';
import { cachedResponse } from './cached-response.ts';
import { proxyList } from './client-address.ts';
import { type HttpServer, type ListenOptions, listenHttp, nameOfHost } from './listen.ts';
import type { Observer, Readings } from './observer.ts';
import { openApi } from './openapi.ts';
import { isLoopback } from './origin-check.ts';
import { docsPage } from './pages/docs-page.ts';
import { homePage } from './pages/home-page.ts';
import type { Rate } from './rate-limit.ts';
import type { ReadLimits } from './read-budget.ts';
import { routes } from './routes/index.ts';

export interface ServeOptions extends Pick<ListenOptions, 'drainMs' | 'timeouts'>, Partial<Readings> {
  /** Address to listen at. A loopback address accepts requests from this machine only. */
  readonly host?: string;
  /** 0 chooses a free port. */
  readonly port?: number;
  /** Further host names that the server answers to. */
  readonly allowHosts?: readonly string[];
  /** Whether /metrics answers to any host name, as /healthz and /readyz do. */
  readonly metricsOnAnyHost?: boolean;
  /** Other origins whose pages may send requests from a browser. */
  readonly allowOrigins?: readonly string[];
  /** Rate limit of one key. */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
  /** Rate limit of all keys of a workspace together; four times `rate` by default. */
  readonly workspaceRate?: { readonly perSecond: number; readonly burst: number };
  /** How many wrong keys one address (IPv6: its /64) may send. Further ones get 429; valid keys still work. */
  readonly wrongKeyRate?: { readonly perSecond: number; readonly burst: number };
  /** Addresses or networks of proxies whose header `x-forwarded-for` names the client, such as 10.0.0.0/8. */
  readonly trustedProxies?: readonly string[];
  /** Maximum number of event streams and waits for runs that one key may have open at the same time. */
  readonly streamsPerKey?: number;
  /** The same maximum for all keys of a workspace together, and for the whole server. */
  readonly streams?: { readonly perWorkspace: number; readonly perServer: number };
  /** Memory limits for the bodies of requests under way, and likewise for large answers. */
  readonly bodies?: { readonly workspaceBytes: number; readonly serverBytes: number };
  /** Limits on reads that take long. */
  readonly reads?: Partial<ReadLimits>;
  /** Interval at which a stream sends a heartbeat and checks its key again. */
  readonly beatMs?: number;
  /** Receives reports on the server's work, for logs and metrics. */
  readonly observer?: Partial<Observer>;
  /** Name of the store as shown on the home page, without its password. */
  readonly store?: string;
  /** Shown on the home page: whether this process includes a worker. */
  readonly worksHere?: boolean;
  /** The workers of this server: without one at work, it is not ready. */
  readonly workers?: { readonly count: number; readonly running: number };
  /** Validates answers against their schemas; for tests. */
  readonly checksAnswers?: boolean;
}

/**
 * Rate of a workspace: several of its keys can be busy at the same time, but creating more keys gives no more than
 * this.
 */
const forWorkspace = ({ perSecond, burst }: Rate): Rate => ({ perSecond: 4 * perSecond, burst: 4 * burst });
const defaultRate: Rate = { perSecond: 50, burst: 200 };

export const serveDefaults = {
  host: '127.0.0.1',
  port: 0,
  rate: defaultRate,
  workspaceRate: forWorkspace(defaultRate),
  wrongKeyRate: { perSecond: 1, burst: 50 },
  streamsPerKey: 100,
  streams: { perWorkspace: 1000, perServer: 5000 },
  bodies: { workspaceBytes: 128 * 1024 * 1024, serverBytes: 512 * 1024 * 1024 },
  reads: { freeMs: defaultFreeMs, perKey: 4, perWorkspace: 8, atOnce: 2, onServer: 16, verifyEvents: 10_000 },
  beatMs: 15_000,
  metricsOnAnyHost: false,
  store: 'its own',
  worksHere: false,
} as const satisfies ServeOptions;

const silent: Observer = { answered: () => {}, failed: () => {}, streams: () => {}, wrongKey: () => {} };

/** Serves a runtime over HTTP. The caller keeps the runtime: stopping the server does not close it. */
export const serveHttp = async (runtime: Runtime, options: ServeOptions = {}): Promise<HttpServer> => {
  const { host = serveDefaults.host, port = serveDefaults.port, drainMs, timeouts } = options;
  const { allowHosts = [], allowOrigins = [], observer, metrics, workers } = options;
  const { metricsOnAnyHost = serveDefaults.metricsOnAnyHost } = options;
  const { store = serveDefaults.store, worksHere = serveDefaults.worksHere } = options;
  const { rate = serveDefaults.rate, streamsPerKey = serveDefaults.streamsPerKey } = options;
  const { streams = serveDefaults.streams } = options;
  const { workspaceRate = forWorkspace(rate), bodies = serveDefaults.bodies } = options;
  const { beatMs = serveDefaults.beatMs, checksAnswers = false } = options;
  const stopping = new AbortController();
  const own = isLoopback(host) ? ['localhost', '127.0.0.1', '[::1]'] : [nameOfHost(host).toLowerCase()];
  const rules = {
    hosts: [...own, ...allowHosts.map((name) => name.toLowerCase())],
    origins: allowOrigins,
    anyHost: [...probePaths, ...(metricsOnAnyHost ? ['/metrics'] : [])],
  };
  const app = httpApp({
    runtime,
    rules,
    rate,
    workspaceRate,
    wrongKeyRate: options.wrongKeyRate ?? serveDefaults.wrongKeyRate,
    proxies: proxyList(options.trustedProxies ?? []),
    streamsPerKey,
    streams,
    bodies,
    reads: { ...serveDefaults.reads, ...options.reads },
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
  const obstacles = async (): Promise<readonly Obstacle[]> => [
    ...(stopping.signal.aborted ? [{ part: 'server', problem: 'the server is stopping' } as const] : []),
    ...(workers && workers.count > 0 && workers.running === 0
      ? [{ part: 'worker', problem: 'no worker process of this server is at work' } as const]
      : []),
    ...(await runtime.problems()),
  ];
  const facts = () => (workers ? { workers: { count: workers.count, running: workers.running } } : {});
  addHealth(app, { obstacles, facts, metrics });
  const onStop = () => stopping.abort();
  const server = await listenHttp(app.fetch, { host, port, drainMs, timeouts, onStop });
  url = server.url;
  return server;
};
