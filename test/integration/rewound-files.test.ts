import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime } from '../../src/index.ts';
import { scriptedModel } from '../../src/models/scripted.ts';
import { newMemoryDatabase } from '../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';

test('[FILE19] the store is asked once whether it has the files from before a rewind', async () => {
  const data = await mkdtemp(join(tmpdir(), 'perdure-rewind-'));
  const store = openMemoryStore(newMemoryDatabase());
  let asked = 0;
  const hasBlobs: typeof store.hasBlobs = (...question) => {
    asked++;
    return store.hasBlobs(...question);
  };
  let text = 'one';
  const execute = (_: unknown, { folder }: { folder: string }) => {
    writeFileSync(join(folder, 'a'), text);
    return 'done';
  };
  const tool = defineTool({ name: 'act', input: z.object({}), confined: true, execute });
  const steps = [{ when: { answers: 0 }, calls: [{ tool: 'act', input: {} }] }, { text: 'Done.' }];
  const script = defineScript({ name: 'acts', everyTurn: true, steps });
  const agent = defineAgent({ name: 'tester', version: 1, model: scriptedModel(script), tools: [tool] });
  const runtime = await openRuntime({
    store: overrideStore(store, { hasBlobs }),
    agents: [agent],
    worker: false,
    data,
  });
  const session = await runtime.sessions.open({ agent });
  const turn = async () => {
    await session.send('act');
    await runtime.worker({ session: session.id, pollMs: 50 }).runUntilIdle();
  };
  await turn();
  text = 'two';
  await turn();
  await session.rewind({ to: { turn: 1 } });
  asked = 0;
  await turn();
  expect(asked).toBe(1);
  await runtime.close();
  await rm(data, { recursive: true });
});
