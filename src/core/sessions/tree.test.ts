import { expect, test } from 'vitest';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';

/** A root session, its fork, and a fork of that fork. */
const line = async () => {
  const store = openMemoryStore();
  const { sessions } = await openRuntime({ store });
  const root = await sessions.open();
  const child = await root.fork();
  return { store, root, child, grandchild: await child.fork() };
};

test('[FORK1] a tree holds the whole family, in whatever order the store lists it', async () => {
  const { store, root, child, grandchild } = await line();
  const backwards = overrideStore(store, { family: async (key) => (await store.family(key)).toReversed() });
  const { sessions } = await openRuntime({ store: backwards });
  expect(await (await sessions.get(child.id)).tree()).toMatchObject({
    summary: { id: root.id },
    forks: [{ summary: { id: child.id }, forks: [{ summary: { id: grandchild.id }, forks: [] }] }],
  });
});

test('[FORK7] a tree with too many levels is rejected', async () => {
  const { sessions } = await openRuntime({ store: openMemoryStore() });
  let newest = await sessions.open();
  for (let level = 1; level < 1000; level++) newest = await newest.fork();
  JSON.stringify(await newest.tree());
  await expect((await newest.fork()).tree()).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
    details: { levels: 1001, maxLevels: 1000 },
  });
});
