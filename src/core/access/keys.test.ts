import { randomBytes } from 'node:crypto';
import { expect, test, vi } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';

test('[PDK7, AUD2] only the hash of a token is stored, whatever is done with the token', async () => {
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

test('[RED6, RED12] records and summaries beside the logs hold no secret', async () => {
  const database = newMemoryDatabase();
  const masterKey = randomBytes(32).toString('base64');
  const runtime = await openRuntime({ store: openMemoryStore(database), masterKey });
  const value = 'correct-horse-battery-staple';
  await runtime.vault.set('github', value);
  const { members, keys, webhooks, vault } = runtime;
  await members.add({ id: 'ann', profile: { name: 'Ann Example' } });
  const url = 'https://example.org/hooks';
  const { webhook } = await webhooks.add({ url, events: ['run.ended'] });
  const refused = { code: 'INVALID_INPUT', message: expect.stringContaining('leave the secret out') };
  const secretUrl = `${url}?token=${value}`;
  await expect(members.add({ id: value })).rejects.toMatchObject(refused);
  await expect(members.add({ id: 'bob', profile: { about: `says ${value}` } })).rejects.toMatchObject(refused);
  await expect(members.change('ann', { profile: { name: value } })).rejects.toMatchObject(refused);
  await expect(keys.create({ name: `with ${value}` })).rejects.toMatchObject(refused);
  await expect(webhooks.add({ url: secretUrl, events: ['run.ended'] })).rejects.toMatchObject(refused);
  await expect(webhooks.change(webhook.id, { url: secretUrl })).rejects.toMatchObject(refused);
  await expect(vault.set('gitlab', 'another-long-value', { about: value })).rejects.toMatchObject(refused);
  const session = await runtime.sessions.open({ title: value, metadata: { [value]: value } });
  await session.update({ metadata: { token: `is ${value}` } });
  const kept = [...database.workspaces.values()].flatMap(({ records, sessions }) => [
    ...records.values(),
    ...sessions.values(),
  ]);
  expect(JSON.stringify(kept)).toContain('Ann Example');
  expect(JSON.stringify(kept)).toContain('is [secret github]');
  expect(JSON.stringify(kept)).not.toContain(value);
  expect(await members.list()).toHaveLength(1);
});

test('[AUD2] a secret that was passed instead of a name is redacted in the audit log', async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), masterKey: randomBytes(32).toString('base64') });
  const value = 'correct-horse-battery-staple';
  await runtime.vault.set('github', value);
  await expect(runtime.members.remove(value)).rejects.toThrow();
  await expect(runtime.members.remove(`${'x'.repeat(190)}${value}`)).rejects.toThrow();
  const { entries } = await runtime.audit.list();
  expect(entries.map(({ target }) => target)).toContain('[secret github]');
  expect(JSON.stringify(entries)).not.toContain(value.slice(0, 8));
});

test('[PDK3] a token rejected as expired stays expired after the clock goes back, and one that cannot be marked is rejected', async () => {
  const store = openMemoryStore();
  let now = Date.now();
  const runtime = await openRuntime({ store, clock: { now: () => now } });
  const parent = await runtime.keys.create();
  const request = { member: 'local', parent: parent.key.id };
  const [marked, unmarked] = [await runtime.keys.createToken(request), await runtime.keys.createToken(request)];
  const began = now;
  now = marked.key.expiresAt!;
  expect(await runtime.authenticate(marked.token)).toBeUndefined();
  const write = vi.spyOn(store, 'writeRecords').mockRejectedValue(new Error('the disk is full'));
  expect(await runtime.authenticate(unmarked.token)).toBeUndefined();
  write.mockRestore();
  now = began;
  expect(await runtime.authenticate(marked.token)).toBeUndefined();
  expect(await runtime.authenticate(unmarked.token), 'the process knows a later time').toBeUndefined();
  expect(await runtime.authenticate(parent.token)).toBeDefined();
  const due = await store.records(WorkspaceId.parse('local'), 'token', { dueBy: marked.key.expiresAt!, limit: 10 });
  expect(due, 'a marked token is still removed').toHaveLength(2);
});
