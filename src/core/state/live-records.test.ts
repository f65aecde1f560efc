import { expect, test } from 'vitest';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { openRuntime } from '../../runtime.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';

test('[QRY2] events that a rewind left behind are live if a fork of a fork inherits them, in whatever order the store lists the family', async () => {
  const store = openMemoryStore();
  const { sessions } = await openRuntime({ store });
  const root = await sessions.open();
  await root.append({ role: 'user', content: 'go' });
  await root.commit((draft) => Object.assign(draft.facts, { port: 8080 }));
  const child = await root.fork();
  await child.fork();
  for (const session of [root, child]) await session.rewind({ to: { seq: 1 } });
  const backwards = overrideStore(store, { family: async (key) => (await store.family(key)).toReversed() });
  const later = await openRuntime({ store: backwards });
  expect((await later.sessions.commits({ path: '/facts/port' })).commits).toHaveLength(1);
});

test('[FAULT2, QRY2] an unreadable session does not hide the others, and its records are treated as live', async () => {
  const database = newMemoryDatabase();
  const { sessions } = await openRuntime({ store: openMemoryStore(database) });
  const [sound, broken] = [await sessions.open(), await sessions.open()];
  for (const session of [sound, broken]) {
    await session.append({ role: 'user', content: 'go' });
    await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }));
  }
  const store = openMemoryStore(database);
  const damaged = overrideStore(store, {
    read: async (key, range) =>
      (await store.read(key, range)).map((event) =>
        key.session === broken.id ? { ...event, body: { kind: 'damaged', reason: 'by hand' } } : event,
      ),
  });
  const later = await openRuntime({ store: damaged });
  const found = (await later.sessions.commits({ path: '/facts/port' })).commits;
  expect(found.map(({ session }) => session)).toEqual([broken.id, sound.id]);
});
