import { randomBytes } from 'node:crypto';
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
  await expect(runtime.keys.revoke(first.token)).rejects.toThrow();
  await expect(runtime.members.remove(`see ${rotated.token}`)).rejects.toThrow();
  const kept = [...database.workspaces.values()].flatMap(({ records }) => [...records.values()]);
  expect(kept.map(({ kind }) => kind)).toContain('key');
  for (const { token } of [first, rotated]) expect(JSON.stringify(kept)).not.toContain(token.split('.')[2]);
});

test('[AUD2] a secret of the workspace that was given in place of a name is not kept either', async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), masterKey: randomBytes(32).toString('base64') });
  const value = 'correct-horse-battery-staple';
  await runtime.vault.set('github', value);
  await expect(runtime.members.remove(value)).rejects.toThrow();
  await expect(runtime.members.remove(`${'x'.repeat(190)}${value}`)).rejects.toThrow();
  const { entries } = await runtime.audit.list();
  expect(entries.map(({ target }) => target)).toContain('[secret github]');
  expect(JSON.stringify(entries)).not.toContain(value.slice(0, 8));
});
