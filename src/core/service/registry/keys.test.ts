import { expect, test } from 'vitest';
import { openRuntime } from '../../../runtime.ts';
import { newMemoryDatabase } from '../../../testing/memory-database.ts';
import { openMemoryStore } from '../../../testing/memory-store.ts';

test('[PDK1, AUD2] of a token nothing but the hash of its secret is kept, whatever is done with it', async () => {
  const database = newMemoryDatabase();
  const runtime = await openRuntime({ store: openMemoryStore(database) });
  const first = await runtime.keys.create({ name: 'first' });
  const rotated = await runtime.keys.rotate(first.key.id);
  await runtime.authenticate(first.token);
  await runtime.authenticate(rotated.token);
  await runtime.keys.revoke(first.token).catch(() => undefined);
  const kept = [...database.workspaces.values()].flatMap(({ records }) => [...records.values()]);
  expect(kept.map(({ kind }) => kind)).toContain('key');
  for (const { token } of [first, rotated]) expect(JSON.stringify(kept)).not.toContain(token.split('.')[2]);
});
