import { expect, test } from 'vitest';
import { overrideStore } from '../../../test/override-store.ts';
import { openRuntime } from '../../runtime.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';

test('[FAULT2, QRY2] a session that cannot be read leaves the others findable, and what is found of it counts', async () => {
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
  const found = await later.sessions.commits({ path: '/facts/port' });
  expect(found.map(({ session }) => session)).toEqual([broken.id, sound.id]);
});
