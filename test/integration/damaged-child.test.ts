import { expect, test } from 'vitest';
import type { StoredEvent } from '../../src/core/ports/store.ts';
import { defineAgent, defineScript, openRuntime, type Session } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { subagent } from '../../src/tools/index.ts';
import { stuckTool } from '../support/runs/stuck-tool.ts';
import { overrideStore } from '../support/stores/override-store.ts';

const until = async (session: Session, type: string, run?: string) => {
  for await (const event of session.events({ follow: true })) {
    if (event.type === type && (run === undefined || event.run === run)) return event;
  }
  throw new Error(`${session.id} has no ${type}`);
};

test('[SUB10] a cancelled parent goes on although the log of its child is damaged', async () => {
  const store = openMemoryStore();
  let damaged: string | undefined;
  const garbled = (event: StoredEvent): StoredEvent =>
    event.session === damaged && event.type === 'message.appended' && event.body.kind === 'bytes'
      ? { ...event, body: { ...event.body, bytes: Buffer.from('garbage') } }
      : event;
  const read: typeof store.read = async (key, range) => (await store.read(key, range)).map(garbled);
  const helper = defineAgent({
    name: 'helper',
    model: defineScript({ name: 'helper', steps: [{ calls: [{ tool: stuckTool.name, input: {} }] }] }),
    tools: [stuckTool],
  });
  const boss = defineAgent({
    name: 'boss',
    model: defineScript({ name: 'boss', steps: [{ calls: [{ tool: 'helper', input: { task: 'Go' } }] }] }),
    tools: [subagent(helper)],
  });
  const warnings: unknown[] = [];
  await using runtime = await openRuntime({
    store: overrideStore(store, { read }),
    agents: [boss, helper],
    worker: false,
    onWarning: (warning) => void warnings.push(warning),
  });
  await runtime.worker().start();
  const session = await runtime.sessions.open({ agent: boss });
  await session.send('One');
  const opened = await until(session, 'child.opened');
  const child = (opened.payload as { session: string }).session;
  await until(await runtime.sessions.get(child), 'tool.called');
  damaged = child;
  await session.cancel();
  const next = await session.send('Two');
  await until(session, 'run.started', next.id);
  expect(warnings).toContainEqual(expect.objectContaining({ code: 'EVENT_DAMAGED' }));
});
