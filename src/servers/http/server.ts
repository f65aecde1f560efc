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
  /** Address to listen at. A loopback address accepts requests from this machine only. */
  readonly host?: string;
  /** 0 chooses a free port. */
  readonly port?: number;
  /** Further host names that the server answers to. */
  readonly allowHosts?: readonly string[];
  /** Other origins whose pages may send requests from a browser. */
  readonly allowOrigins?: readonly string[];
  /** Rate limit of one key. */
  readonly rate?: { readonly perSecond: number; readonly burst: number };
  /** Rate limit of all keys of a workspace together; four times `rate` by default. */
  readonly workspaceRate?: { readonly perSecond: number; readonly burst: number };
  /** Maximum number of event streams and waits for runs that one key may have open at the same time. */
  readonly streamsPerKey?: number;
  /** Memory limits for the bodies of requests under way. */
  readonly bodies?: { readonly workspaceBytes: number; readonly serverBytes: number };
  /** Interval at which a stream sends a heartbeat and checks its key again. */
  readonly beatMs?: number;
  /** Receives reports on the server's work, for logs and metrics. */
  readonly observer?: Partial<Observer>;
  /** Name of the store as shown on the home page, without its password. */
  readonly store?: string;
  /** Shown on the home page: whether this process includes a worker. */
  readonly worksHere?: boolean;
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
  streamsPerKey: 100,
  bodies: { workspaceBytes: 128 * 1024 * 1024, serverBytes: 512 * 1024 * 1024 },
  beatMs: 15_000,
  store: 'its own',
  worksHere: false,
} as const satisfies ServeOptions;

const silent: Observer = { answered: () => {}, failed: () => {}, streams: () => {} };

/** Serves a runtime over HTTP. The caller keeps the runtime: stopping the server does not close it. */
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
