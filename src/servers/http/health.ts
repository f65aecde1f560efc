import { Hono } from 'hono';
import type { WorkerCondition } from '../../core/worker/worker.ts';
import type { Runtime } from '../../runtime.ts';
import { addHealth } from './add-health.ts';
import { type HttpServer, listenHttp } from './listen.ts';
import type { Readings } from './observer.ts';
import { workerPage } from './pages/worker-page.ts';

export interface HealthOptions extends Readings {
  readonly host: string;
  readonly port: number;
  readonly worker: () => WorkerCondition;
}

/** Health endpoints of a worker. They need no key, so they name no session and no workspace. */
export const serveHealth = (
  runtime: Pick<Runtime, 'problems'>,
  { host, port, worker, metrics }: HealthOptions,
): Promise<HttpServer> => {
  const app = new Hono();
  app.get('/', async () => workerPage({ ...worker(), problems: await runtime.problems() }));
  const draining = { part: 'worker', problem: 'the worker drains: it claims no more sessions' } as const;
  addHealth(app, {
    obstacles: async () => [...(worker().isEnding ? [draining] : []), ...(await runtime.problems())],
    metrics,
  });
  return listenHttp(app.fetch, { host, port });
};
