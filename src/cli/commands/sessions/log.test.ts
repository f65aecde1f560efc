import { stripVTControlCharacters } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { callCliOn } from '../../../../test/support/cli/call-cli.ts';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';
import { demoAgent } from '../../config/demo-agent.ts';

test('[CLI14] the columns of a log stay aligned, whatever the type and actor of an event', async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({
    store: openMemoryStore(database),
    agents: [demoAgent],
    worker: false,
  });
  onTestFinished(() => runtime.close());
  const session = await runtime.sessions.open({ agent: demoAgent });
  for (const input of ['tour', 'delete']) {
    await session.send(input);
    await runtime.worker().runUntilIdle();
  }
  const { out } = await callCliOn(database, ['log', session.id], { columns: 120 });
  const lines = stripVTControlCharacters(out)
    .split('\n')
    .filter((line) => /^ *\d+ {2}/.test(line));
  for (const wide of [' approval.requested ', ' tool:remember ']) expect(out).toContain(wide);
  const starts = lines.map((line) =>
    /^( *\d+ +\S+ +t\d+ +)(\S+ +)(\S+ +)\S/
      .exec(line)
      ?.slice(1)
      .map((part) => part.length),
  );
  expect(new Set(starts.filter(Boolean).map(String)).size).toBe(1);
});
