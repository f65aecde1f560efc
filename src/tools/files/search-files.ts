import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { SearchMatch, SearchRequest, SearchResult } from './search-request.ts';

const entry = new URL(`./search-thread${extname(import.meta.url)}`, import.meta.url);

/** Searches until every file was read, enough matches were found, or the time is up. */
export const searchFiles = (request: SearchRequest, maxMs: number, signal: AbortSignal): Promise<SearchResult> =>
  new Promise((resolve, reject) => {
    const matches: SearchMatch[] = [];
    const thread = new Worker(entry, { workerData: request });
    const finish = (settle: () => void) => {
      clearTimeout(timer);
      signal.removeEventListener('abort', abort);
      void thread.terminate().then(settle);
    };
    const timer = setTimeout(() => finish(() => resolve({ matches, isTimedOut: true })), maxMs);
    const abort = () => finish(() => reject(signal.reason));
    signal.addEventListener('abort', abort, { once: true });
    if (signal.aborted) abort();
    thread.on('message', (match: SearchMatch | null) => {
      if (match) matches.push(match);
      else finish(() => resolve({ matches, isTimedOut: false }));
    });
    thread.on('error', (error) => finish(() => reject(error)));
  });
