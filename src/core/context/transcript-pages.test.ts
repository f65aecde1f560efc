import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { type Actor, newId, type WorkspaceId } from '../../schema/ids.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { encodeEvent } from '../session/events/event-codec.ts';

test('[VIEW16] a broken-off answer is the same on every page, although its rest came after later messages', async () => {
  const store = openMemoryStore();
  const runtime = await openRuntime({ store, worker: false });
  const session = await runtime.sessions.open();
  const key = { workspace: 'local' as WorkspaceId, session: session.id };
  const message = newId('msg');
  const abandon = (text: string, about: { readonly isRest?: true }) => {
    const payload = { message, content: [{ type: 'text' as const, text }], why: 'stopped' as const, ...about };
    const event = encodeEvent({ type: 'message.abandoned', payload, actor: 'agent:a' as Actor, turn: 'current' });
    return store.append({ ...key, writer: { kind: 'run', epoch: 0, claim: '' }, at: 1, events: [event] });
  };
  await session.append({ role: 'user', content: 'one' });
  await abandon('It begins', {});
  await session.append([
    { role: 'user', content: 'two' },
    { role: 'user', content: 'three' },
  ]);
  await abandon(' and goes', { isRest: true });
  await abandon(' on.', { isRest: true });
  await session.append({ role: 'user', content: 'four' });
  const { entries } = await session.transcript();
  expect(entries[1]?.message.content).toEqual([{ type: 'text', text: 'It begins and goes on.' }]);
  for (const limit of [1, 2, 3]) {
    let page = await session.transcript({ limit });
    let read = page.entries;
    while (page.cursor !== undefined) {
      page = await session.transcript({ limit, cursor: page.cursor });
      read = [...page.entries, ...read];
    }
    expect(read).toEqual(entries);
  }
  await runtime.close();
});
