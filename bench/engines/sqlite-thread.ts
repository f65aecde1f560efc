import { parentPort, workerData } from 'node:worker_threads';
import type { BareRow } from './engine.ts';
import { openRows } from './sqlite-rows.ts';

const { file, schema } = workerData as { file: string; schema: string };
const rows = openRows(file, schema);
parentPort!.on('message', (batch: readonly BareRow[]) => {
  rows.insert(batch);
  parentPort!.postMessage(batch.length);
});
