import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { FromWorker, ToWorker, WorkerProcess } from './worker-process.ts';
import { WorkerProcesses } from './workforce.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  vi.spyOn(Math, 'random').mockReturnValue(1);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Worker processes that do what the test says. */
const hire = (count = 1) => {
  const made: {
    says: (message: FromWorker) => void;
    dies: (how: string) => void;
    sent: (ToWorker['type'] | 'SIGTERM' | 'SIGKILL')[];
  }[] = [];
  const restarts: string[] = [];
  const start = (): WorkerProcess => {
    const ended = Promise.withResolvers<string>();
    const listeners: ((message: FromWorker) => void)[] = [];
    const sent: (typeof made)[number]['sent'] = [];
    made.push({ says: (message) => listeners.forEach((hear) => void hear(message)), dies: ended.resolve, sent });
    return {
      pid: made.length,
      ended: ended.promise,
      send: ({ type }) => void sent.push(type),
      onMessage: (listener) => {
        listeners.push(listener);
        return () => {};
      },
      kill: (signal) => {
        sent.push(signal);
        if (signal === 'SIGKILL') ended.resolve('signal SIGKILL');
      },
    };
  };
  const onAppended = vi.fn();
  const workers = new WorkerProcesses({
    count,
    start,
    onReady: () => {},
    onAppended,
    onRestart: (message) => restarts.push(message),
  });
  return { workers, made, restarts, onAppended };
};

const ready = { type: 'ready' } as const;
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('[PROC2] a worker process that dies is restarted, after a pause that doubles until it has worked for a while', async () => {
  const { workers, made, restarts } = hire();
  const started = workers.start();
  made[0]!.says(ready);
  await started;
  for (const [index, pauseMs] of [250, 500, 1000].entries()) {
    made[index]!.dies('signal SIGKILL');
    await pass(pauseMs - 1);
    expect(made).toHaveLength(index + 1);
    expect(workers.running).toBe(0);
    await pass(1);
    expect(made).toHaveLength(index + 2);
    made[index + 1]!.says(ready);
    expect(workers.running).toBe(1);
  }
  expect(restarts[1]).toBe('worker process 2 ended with signal SIGKILL; it is restarted in 500 ms');
  await pass(60_000);
  made[3]!.dies('exit code 1');
  await pass(250);
  expect(made).toHaveLength(5);
});

test('[PROC2] the pause is 30 seconds at most', async () => {
  const { workers, made } = hire();
  const started = workers.start();
  made[0]!.says(ready);
  await started;
  for (let failures = 1; failures <= 12; failures++) {
    made.at(-1)!.dies('exit code 1');
    await pass(30_000);
    expect(made).toHaveLength(failures + 1);
  }
});

test('[PROC2] a worker process that ends before it was ready fails the start', async () => {
  const { workers, made } = hire(2);
  const started = workers.start();
  made[0]!.says(ready);
  made[1]!.dies('exit code 3');
  await expect(started).rejects.toThrow('a worker process ended with exit code 3 before it was ready');
});

test('[PROC3] a drain waits for every process, starts none again, and kills one that is stuck', async () => {
  const { workers, made } = hire(3);
  const started = workers.start();
  for (const each of made) each.says(ready);
  await started;
  made[2]!.dies('exit code 1');
  await pass(0);
  let isOver = false;
  const drained = workers.drain().then(() => {
    isOver = true;
  });
  expect(made.map(({ sent }) => sent)).toEqual([['drain'], ['drain'], []]);
  made[0]!.dies('exit code 0');
  await pass(29_999);
  expect(isOver).toBe(false);
  await pass(1);
  expect(made[1]!.sent).toEqual(['drain', 'SIGKILL']);
  await drained;
  expect(made).toHaveLength(3);
});

test('[PROC3] a stop during a drain kills a process that does not end within three seconds', async () => {
  const { workers, made } = hire();
  const started = workers.start();
  made[0]!.says(ready);
  await started;
  const drained = workers.drain();
  void workers.stop();
  await pass(3000);
  expect(made[0]!.sent).toEqual(['drain', 'stop', 'SIGKILL']);
  await drained;
});

test('[PROC5] the appends that worker processes report are counted', async () => {
  const { workers, made, onAppended } = hire();
  void workers.start();
  made[0]!.says({ type: 'appended', events: { 'run.ended': 1 }, runs: { succeeded: 1 } });
  expect(onAppended).toHaveBeenCalledWith(expect.objectContaining({ runs: { succeeded: 1 } }));
});
