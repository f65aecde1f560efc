import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { defineScript } from '../../models/script.ts';
import { scriptedModel } from '../../models/scripted.ts';
import { openRuntime } from '../../runtime.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { defineTool } from '../../tools/define-tool.ts';
import { defineAgent } from '../session/agent.ts';

test('[FAULT2] an unreadable session does not hide the approvals of others', async () => {
  const database = newMemoryDatabase();
  const model = scriptedModel(defineScript({ name: 'asking', steps: [{ calls: [{ tool: 'ask', input: {} }] }] }));
  const ask = defineTool({ name: 'ask', input: z.object({}), approval: true, execute: () => 'done' });
  const agent = defineAgent({ name: 'asking', version: 1, model, tools: [ask] });
  const runtime = await openRuntime({ store: openMemoryStore(database), agents: [agent], worker: false });
  onTestFinished(() => runtime.close());
  await runtime.worker().start();
  const [sound, broken] = [await runtime.sessions.open({ agent }), await runtime.sessions.open({ agent })];
  for (const session of [sound, broken]) {
    expect(await (await session.send('go')).result()).toMatchObject({ status: 'waiting' });
  }
  const store = openMemoryStore(database);
  const damaged = overrideStore(store, {
    read: async (key, range) =>
      (await store.read(key, range)).map((event) =>
        key.session === broken.id ? { ...event, body: { kind: 'damaged', reason: 'by hand' } } : event,
      ),
  });
  const later = await openRuntime({ store: damaged, agents: [agent], worker: false });
  onTestFinished(() => later.close());
  expect(await later.approvals.list()).toMatchObject([{ session: sound.id }]);
});
