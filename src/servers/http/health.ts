import { type Env, Hono } from 'hono';
import type { WorkerCondition } from '../../core/service/workers.ts';
import type { Runtime } from '../../runtime.ts';
import { type HttpServer, listenHttp } from './listen.ts';
import { workerPage } from './pages/worker-page.ts';

/** What a process tells of itself to those who watch over it. */
export interface Readings {
  /** What /metrics answers. */
  readonly metrics?: (() => Promise<{ readonly type: string; readonly text: string }>) | undefined;
}

export const addHealth = <E extends Env>(
  app: Hono<E>,
  { isReady, metrics }: Readings & { readonly isReady: () => Promise<boolean> },
): void => {
  app.get('/healthz', () => Response.json({ ok: true }));
  app.get('/readyz', async () => {
    const ok = await isReady();
    return Response.json({ ok }, { status: ok ? 200 : 503 });
  });
  app.get('/metrics', async () => {
    const { type, text } = (await metrics?.()) ?? { type: 'text/plain', text: '' };
    return new Response(text, { headers: { 'content-type': type } });
  });
};

export interface HealthOptions extends Readings {
  readonly host: string;
  readonly port: number;
  readonly worker: () => WorkerCondition;
}

/** Of a worker: nobody needs a key, so that it names no session and no workspace. */
export const serveHealth = (
  runtime: Pick<Runtime, 'isReady'>,
  { host, port, worker, metrics }: HealthOptions,
): Promise<HttpServer> => {
  const app = new Hono();
  app.get('/', async () => workerPage({ ...worker(), isReady: await runtime.isReady() }));
  addHealth(app, { isReady: async () => !worker().isEnding && (await runtime.isReady()), metrics });
  return listenHttp(app.fetch, { host, port });
};
