export type { Worker, WorkerCondition } from '../run/worker.ts';
export type { WorkerOptions } from '../run/worker-options.ts';
export type { WorkerInfo } from './list-workers.ts';
