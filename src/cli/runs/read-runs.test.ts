import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { demoConfig } from '../config/demo-agent.ts';
import { readRuns } from './read-runs.ts';
import { restOf } from './runs-view.ts';

const start = async (database = newMemoryDatabase()) => {
  const { agents } = demoConfig({});
  const runtime = await openRuntime({
    store: openMemoryStore(database),
    agents,
    worker: false,
  });
  return { runtime, session: await runtime.sessions.open({ agent: agents[0] }) };
};

test('[CLIR4] inputs that wait behind a run of many events are found', async () => {
  const { runtime, session } = await start();
  const first = await session.send('please delete it');
  const second = await session.send('hello');
  await runtime.worker().runUntilIdle();
  const change = async (n: number) =>
    session.commit((draft) => {
      draft.facts.n = n;
    });
  for (let n = 0; n < 700; n++) await change(n);
  const { view, newestAt } = await readRuns(session);
  expect(view.run).toMatchObject({ id: first.id, waitingFor: 'approval' });
  expect(view.queue.map(({ run }) => run)).toEqual([second.id]);
  expect(view.approvals).toHaveLength(1);
  expect(newestAt).toBeLessThan(5);
  expect(restOf(view)).toEqual({ kind: 'waiting', for: 'approval' });
  await session.deny(view.approvals[0]!.approval, { comment: 'no' });
  expect(restOf((await readRuns(session)).view)).toBeUndefined();
  await runtime.worker().runUntilIdle();
  expect(restOf((await readRuns(session)).view)).toMatchObject({ kind: 'ended', end: { status: 'succeeded' } });
  await runtime.close();
});

test('[CLIR4, WORKER6] a session whose only input is scheduled for later is at rest until then', async () => {
  const { runtime, session } = await start();
  const notBefore = Date.now() + 3_600_000;
  await session.send('hello', { notBefore });
  const { view } = await readRuns(session);
  expect(restOf(view)).toEqual({ kind: 'ended', end: undefined });
  expect(restOf(view, notBefore)).toBeUndefined();
  await runtime.close();
});

test('[CLIR4, FORK6] the newest run of a fork is one of its own runs, not one that was waiting at the fork point', async () => {
  const { runtime, session } = await start();
  await session.send('hello');
  await runtime.worker().runUntilIdle();
  const { newestAt } = await readRuns(session);
  await session.send('hello again');
  const fork = await session.fork();
  expect((await readRuns(fork)).newestAt).toBe(newestAt);
  await runtime.close();
});

test('[CLIR4] a session without a run is at rest', async () => {
  const { runtime, session } = await start();
  const { view, newestAt } = await readRuns(session);
  expect({ rest: restOf(view), newestAt }).toEqual({ rest: { kind: 'ended', end: undefined }, newestAt: undefined });
  await runtime.close();
});

test('[CLIR4, AGT2] a session is at rest if no worker has the agent of its run, and cancelling that run leaves nothing to do', async () => {
  const database = newMemoryDatabase();
  const { runtime, session } = await start(database);
  const run = await session.send('hello');
  const elsewhere = await openRuntime({ store: openMemoryStore(database) });
  await elsewhere.worker({ pollMs: 20 }).runUntilIdle();
  expect(restOf((await readRuns(session)).view)).toEqual({ kind: 'waiting', for: 'agent' });
  await run.cancel();
  expect(restOf((await readRuns(session)).view)).toMatchObject({ kind: 'ended', end: { status: 'cancelled' } });
  await Promise.all([runtime.close(), elsewhere.close()]);
});
