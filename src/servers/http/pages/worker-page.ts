import type { WorkerCondition } from '../../../core/worker/worker.ts';
import { factsTable, page } from './page.ts';

/** What a worker does now. */
export const workerPage = (worker: WorkerCondition & { readonly isReady: boolean }): Response => {
  const { holds, concurrency, agents, isEnding, isReady } = worker;
  const facts = [
    ['status', isEnding ? 'ending: it takes nothing on any more' : 'working'],
    ['store', isReady ? 'answers' : 'out of reach'],
    ['sessions', `${holds} of ${concurrency} at once`],
    ['agents', agents.join(', ') || 'none'],
  ] as const;
  return page(
    'Perdure: a worker',
    `<h1>A worker</h1><p>It works on the runs of sessions. <code>perdure workers</code> lists all there are.</p>${factsTable(facts)}
<nav><a href="/healthz">Health</a><a href="/readyz">Ready</a><a href="/metrics">Metrics</a></nav>`,
  );
};
