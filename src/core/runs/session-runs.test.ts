import { expect, test } from 'vitest';
import { startRuns } from '../../../test/support/runs/start-runs.ts';
import { defineScript } from '../../models/script.ts';
import { openRuntime } from '../../runtime.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { defineAgent } from '../session/agent.ts';

const agent = defineAgent({
  name: 'tester',
  version: 1,
  model: defineScript({ name: 'test', steps: [{ text: 'ok' }] }),
});

test('[VIEW12] an unreadable event hides no other run, and the workspace names a session that cannot be read', async () => {
  const database = newMemoryDatabase();
  const store = () => openMemoryStore(database);
  const first = await openRuntime({ store: store(), agents: [agent], worker: false });
  const session = await first.sessions.open({ agent });
  const other = await first.sessions.open({ agent });
  for (const input of ['one', 'two']) await session.send(input);
  await other.send('three');
  await first.worker().runUntilIdle();
  await first.close();
  const { events, snapshots } = database.workspaces.get('local' as WorkspaceId)!.sessions.get(session.id)!;
  snapshots.length = 0;
  const called = [...events.values()].findLast(({ type }) => type === 'model.called')!;
  events.set(called.seq, { ...called, body: { kind: 'damaged', reason: 'by hand' } });
  const again = await openRuntime({ store: store(), agents: [agent], worker: false });
  const { runs } = await (await again.sessions.get(session.id)).runs();
  expect(runs.map(({ input, status, model }) => [input, status, model])).toEqual([
    ['two', 'succeeded', undefined],
    ['one', 'succeeded', 'scripted/test'],
  ]);
  events.delete(called.seq);
  const all = await again.sessions.runs();
  expect(all.damaged).toEqual([session.id]);
  expect(all.runs.map(({ input }) => input)).toContain('three');
  await again.close();
});

test('[VIEW6] a run is queued until it begins, and paused or with a person while its session is', async () => {
  const { runtime, session } = await startRuns({ model: agent.models[0] as never });
  await session.send('later', { notBefore: Date.now() + 3_600_000 });
  const standing = async () => (await session.runs()).runs.map(({ status, waitingFor }) => [status, waitingFor]);
  expect(await standing()).toEqual([['queued', undefined]]);
  await session.pause();
  expect(await standing()).toEqual([['paused', undefined]]);
  await session.resume();
  await session.handoff({ to: 'human' });
  expect(await standing()).toEqual([['waiting', 'human']]);
  await session.handoff({ to: { role: 'approver' }, reason: 'sign it' });
  expect((await session.runs()).runs).toMatchObject([{ waitingFor: 'human', reason: 'role:approver: sign it' }]);
  await runtime.close();
});
