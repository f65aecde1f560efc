import { describe, expect, test } from 'vitest';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { openRuntime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';

const begin = async (methods: (store: RuntimeStore) => Partial<RuntimeStore> = () => ({})) => {
  const store = openMemoryStore();
  const runtime = await openRuntime({ store: overrideStore(store, methods(store)) });
  const session = await runtime.sessions.open();
  await session.append({ role: 'user', content: 'go' });
  const set = (facts: Record<string, number>, why: string) =>
    session.commit((draft) => Object.assign(draft.facts, facts), { why });
  return { session, set };
};

describe('the commit behind a differing entry', () => {
  test('[DIFF2] is found however old it is, among commits of many others', async () => {
    const { session, set } = await begin();
    const start = (await session.summary()).seq;
    await set({ old: 1, older: 1 }, 'both');
    await set({ old: 2 }, 'again');
    for (let n = 0; n < 60; n++) await set({ [`old${n}`]: n, other: n }, `${n}`);
    const { commits } = await session.diff({ seq: start }, { session: session.id });
    expect(['old', 'older', 'old0', 'old59', 'other'].map((id) => commits[`/facts/${id}`]?.after?.why)).toEqual([
      'again',
      'both',
      '0',
      '59',
      '59',
    ]);
  });

  test('[DIFF2] needs few queries if it is among the last commits', async () => {
    let asked = 0;
    const { session, set } = await begin((store) => ({
      findCommits: (...query) => {
        asked += 1;
        return store.findCommits(...query);
      },
    }));
    const start = (await session.summary()).seq;
    await set(Object.fromEntries(Array.from({ length: 90 }, (_, n) => [`fact${n}`, n])), 'many at once');
    const { commits } = await session.diff({ seq: start }, { session: session.id });
    expect(Object.keys(commits)).toHaveLength(90);
    expect(asked).toBeLessThanOrEqual(2);
  });

  test.each(['EVENT_DAMAGED', 'STORE_CORRUPT'] as const)(
    '[DIFF2] is omitted if it cannot be read (%s), and the difference is still reported',
    async (code) => {
      const { session, set } = await begin(() => ({
        findCommits: async () => {
          throw new PerdureError(code, 'gone');
        },
      }));
      await set({ port: 8080 }, 'why');
      const { facts, commits } = await session.diff({ seq: 2 }, { session: session.id });
      expect({ facts, commits }).toEqual({ facts: [{ id: 'port', after: 8080 }], commits: { '/facts/port': {} } });
    },
  );
});
