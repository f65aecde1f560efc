import type { RuntimeProblem } from '../../../core/runtime/identities.ts';
import type { WorkerCondition } from '../../../core/worker/worker.ts';
import { factsTable, page } from './page.ts';

/** Status page of a worker. */
export const workerPage = (worker: WorkerCondition & { readonly problems: readonly RuntimeProblem[] }): Response => {
  const { holds, concurrency, agents, isEnding, problems } = worker;
  const facts = [
    ['status', isEnding ? 'draining: it claims no more sessions' : 'working'],
    ['store', problems.some(({ part }) => part === 'store') ? 'unavailable' : 'answers'],
    ['vault', problems.some(({ part }) => part === 'vault') ? 'cannot be opened' : 'no problem'],
    ['sessions', `${holds} of ${concurrency} at once`],
    ['agents', agents.join(', ') || 'none'],
  ] as const;
  return page(
    'Perdure: a worker',
    `<h1>A worker</h1><p>It executes the runs of sessions. <code>perdure workers</code> lists all workers.</p>${factsTable(facts)}
<nav><a href="/healthz">Health</a><a href="/readyz">Ready</a><a href="/metrics">Metrics</a></nav>`,
  );
};
