import { expect, test } from 'vitest';
import { callCli } from '../../../../test/support/cli/call-cli.ts';
import type { WorkerInfo } from '../../../core/runs/list-workers.ts';
import { openRuntime, type Runtime } from '../../../runtime.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';

const worker: WorkerInfo = {
  worker: 'wrk_1',
  isOwn: false,
  agents: ['coder@1'],
  concurrency: 4,
  busy: 1,
  hasRoom: true,
  holds: [],
  status: 'working',
  startedAt: 0,
  seenAt: 0,
};

const headOf = async (info: WorkerInfo) => {
  const { out } = await callCli(['workers', '--store', 'memory'], {
    openRuntime: async (options): Promise<Runtime> => {
      const runtime = await openRuntime({ worker: false, ...options, store: openMemoryStore() });
      return { ...runtime, as: (identity) => ({ ...runtime.as(identity), workers: async () => [info] }) };
    },
  });
  return out.split('\n')[0]!.split(/ +/);
};

test('[CLI6, WORKER2] machine and process of a worker are shown if they are known, and otherwise their columns are left out', async () => {
  const without = ['WORKER', 'STATUS', 'BUSY', 'SEEN', 'UP', 'AGENTS'];
  expect(await headOf(worker)).toEqual(without);
  expect(await headOf({ ...worker, machine: 'box', process: 7 })).toEqual([
    ...without.slice(0, -1),
    'PROCESS',
    'MACHINE',
    'AGENTS',
  ]);
});
