import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startProxy } from '../support/postgres/postgres-proxy.ts';
import { newStorePlace, type StoreKind } from '../support/stores/stores.ts';
import { reportFd } from './report.ts';

/** Longer than the time that an appender continues before the store reports that the database is unavailable. */
const quietMs = 5000;
const folder = tmpdir();
const anyPlan = (address: string) => JSON.stringify({ address, data: folder, folder, deaths: { ses_other: {} } });

/**
 * A program that starts another program, sends that program's pid whenever it makes progress, and waits to be killed.
 */
const parent = `
  const { fork } = require('node:child_process');
  const [program, ...args] = process.argv.slice(1);
  const child = fork(program, args, { execArgv: [], stdio: ['ignore', 'inherit', 'ignore', 'pipe', 'ipc'] });
  const tell = () => process.send(child.pid);
  child.once('message', tell);
  child.stdio[${reportFd}].on('data', (said) => /acknowledged/.test(said) && tell());`;

const startOrphan = async (program: string, args: readonly string[]) => {
  const file = fileURLToPath(new URL(program, import.meta.url));
  const stdio = ['ignore', 'pipe', 'inherit', 'ipc'] as const;
  const child = spawn(process.execPath, ['-e', parent, file, ...args], { stdio: [...stdio] });
  const [pid] = (await once(child, 'message')) as [number];
  const isOver = once(child, 'close').then(() => true); // resolves when no process can write to the pipe any more
  return {
    /** Resolves when the program makes no more progress. */
    isStuck: async () => {
      while (await Promise.race([once(child, 'message'), pause(quietMs)]));
    },
    endsWithParent: async () => {
      child.kill('SIGKILL');
      const ended = await Promise.race([isOver, once(AbortSignal.timeout(10_000), 'abort').then(() => false)]);
      if (!ended) process.kill(pid, 'SIGKILL');
      return ended;
    },
  };
};

const programs: readonly (readonly [program: string, argument: (address: string) => string])[] = [
  ['./files-process.ts', anyPlan],
  ['./gc-process.ts', String],
  ['./records-process.ts', String],
  ['./run-worker.ts', anyPlan],
  ['./store-process.ts', String],
  ['../../bench/run-worker.ts', String],
];

const newAddress = async (kind: StoreKind): Promise<string> => {
  const { address, remove } = await newStorePlace(kind);
  onTestFinished(remove);
  return address;
};

test.for(programs)('%s ends when its parent is killed', async ([program, argument]) => {
  const orphan = await startOrphan(program, [argument(await newAddress('sqlite'))]);
  expect(await orphan.endsWithParent()).toBe(true);
});

test('an appender ends when its parent is killed, even while its database is unavailable', async () => {
  const proxy = await startProxy(await newAddress('postgres'));
  onTestFinished(() => proxy.close());
  const orphan = await startOrphan('./appender.ts', [proxy.url, '1', 'outages']);
  proxy.mode = 'refuse';
  await orphan.isStuck();
  expect(await orphan.endsWithParent()).toBe(true);
});
