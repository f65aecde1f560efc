import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { CallFilter, CommitFilter } from './commits.ts';

test('[QRY1] a query that means nothing is refused, not answered with nothing or everything', async () => {
  const runtime = await openRuntime({ store: openMemoryStore(newMemoryDatabase()) });
  const session = await runtime.sessions.open();
  const windows = [
    { limit: -1 },
    { last: { turns: Number.NaN } },
    { last: { turns: 0 } },
    { turns: { from: 1.5 } },
    { since: new Date('never') },
  ] satisfies CallFilter[];
  const filters = [...windows, { path: 'facts/port' }, { provenance: 'sure' as never }] satisfies CommitFilter[];
  const refusal = { code: 'INVALID_INPUT' };
  for (const filter of windows) await expect(session.toolCalls(filter)).rejects.toMatchObject(refusal);
  for (const filter of filters) await expect(session.commits(filter)).rejects.toMatchObject(refusal);
  await expect(runtime.sessions.commits({ limit: 0 })).rejects.toMatchObject(refusal);
  await runtime.close();
});
