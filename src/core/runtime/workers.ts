export type { WorkerInfo } from '../runs/list-workers.ts';
export type { WorkerOptions } from '../runs/worker-options.ts';
export type { Worker, WorkerCondition } from '../worker/worker.ts';
