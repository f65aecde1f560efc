import { expect, onTestFinished, test, vi } from 'vitest';
import { startReceiver } from '../../../test/support/servers/webhook-receiver.ts';
import { openRuntime } from '../../index.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { Dispatchers } from './dispatchers.ts';

test('[HOOK9] a workspace gets a dispatcher when its first webhook is added, and has none before', async () => {
  const receiver = await startReceiver();
  const runtime = await openRuntime({ store: openMemoryStore(), outbound: { allowPrivate: true } });
  onTestFinished(() => runtime.close());
  for (const id of ['quiet', 'hooked', 'hooked-later']) await runtime.workspaces.add(id);
  const scopeOf = (workspace: string) => runtime.as({ workspace, member: 'local', role: 'admin' });
  const addWebhook = (workspace: string) =>
    scopeOf(workspace).webhooks.add({ url: receiver.url, events: ['session.changed'] });
  await addWebhook('hooked');
  const asked = vi.spyOn(runtime, 'as');
  const dispatchers = new Dispatchers(runtime);
  await dispatchers.start();
  onTestFinished(() => dispatchers.stop());
  expect(asked.mock.calls.map(([{ workspace }]) => workspace)).toEqual(['hooked']);
  asked.mockClear();
  await addWebhook('hooked-later');
  await addWebhook('hooked-later');
  const session = await scopeOf('hooked-later').sessions.open();
  const [received] = await receiver.arrived(1);
  expect(received!.body).toContain(session.id);
  expect(await runtime.workspaces.withWebhooks()).toEqual(['hooked', 'hooked-later']);
  expect(asked.mock.calls.map(([{ workspace }]) => workspace)).not.toContain('quiet');
});
