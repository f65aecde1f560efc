import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const tools = { look: async (_: { path: string }) => 'port 8080', note: async (_: { fact: string }) => 'noted' };
const declared = {
  look: { effects: 'none', files: () => ({ 'src/a.ts': 'modified' as const }) },
  note: { change: (draft: { facts: Record<string, unknown> }) => void Object.assign(draft.facts, { port: 8080 }) },
} as const;

describe.each(storeKinds)('bookkeeping, on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });
  const begin = async () => {
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'go' });
    const tracked = await session.track(tools, declared as never);
    return { session, tracked };
  };
  const entriesOf = async (session: Session, provenance: 'unverified' | 'human') =>
    (await session.commits({ provenance })).commits.map(({ entries }) => entries);

  test('[PROV6] a commit of counters and files alone has no provenance, and no filter finds it, also after a rebuild', async () => {
    const { session, tracked } = await begin();
    await tracked.look({ path: 'src/a.ts' });
    await tracked.note({ fact: 'port' });
    const check = async () => {
      const { commits } = await session.commits();
      expect(commits.map(({ provenance }) => provenance)).toEqual(['unverified', undefined]);
      expect(await entriesOf(session, 'unverified')).toEqual([['/facts/port', '/toolsUsed/note']]);
      expect((await session.commits({ path: '/toolsUsed/note', provenance: 'unverified' })).commits).toEqual([]);
      const all = await runtime.sessions.commits({ provenance: ['unverified', 'imported', 'human', 'verified'] });
      expect(all.commits.filter(({ entries }) => !entries.includes('/facts/port'))).toEqual([]);
      expect((await session.commits({ path: '/toolsUsed/**' })).commits).toHaveLength(2);
    };
    await check();
    expect(await runtime.sessions.rebuildProjections()).toBeGreaterThan(0);
    await check();
  });

  test('[PROV6] adopting changed files lowers no provenance of the facts beside them', async () => {
    const { session } = await begin();
    const branch = await session.fork();
    await branch.files.write('a.txt', 'new');
    await branch.commit((draft) => void Object.assign(draft.facts, { sure: 1 }));
    expect((await session.adopt(branch)).commit).toMatchObject({ provenance: 'human' });
    expect(await entriesOf(session, 'unverified')).toEqual([]);
  });

  test('[PROV7, PROV3] a copy of bookkeeping, and a commit derived from it, is unverified', async () => {
    const { session, tracked } = await begin();
    await tracked.look({ path: 'src/a.ts' });
    const [counted] = (await session.commits()).commits;
    const copied = await session.commit([{ op: 'copy', from: '/filesModified/src~1a.ts', path: '/facts/file' }]);
    expect(copied!.entryProvenance).toEqual({ '/facts/file': 'unverified' });
    const derived = await session.commit((draft) => void Object.assign(draft.facts, { used: true }), {
      by: 'model',
      derivedFrom: [counted!.seq],
    });
    expect(derived).toMatchObject({ provenance: 'unverified' });
    await expect(session.lift('/toolsUsed/look', { to: 'verified', why: 'I counted' })).rejects.toMatchObject({
      code: 'STATE_INVALID',
      message: expect.stringContaining('has no provenance'),
    });
  });

  test('[PROV8] commits by tools name the results of their calls', async () => {
    const { session, tracked } = await begin();
    await tracked.note({ fact: 'port' });
    const result = (await Array.fromAsync(session.events())).find(({ type }) => type === 'tool.completed')!;
    expect((await session.commits()).commits[0]).toMatchObject({ derivedFrom: [result.seq] });
    const events = await session.append([
      { role: 'assistant', content: [{ type: 'tool-call', callId: 'c1', tool: 'x', input: {} }] },
      { role: 'tool', content: [{ type: 'tool-result', callId: 'c1', tool: 'x', outcome: 'ok', output: 'y' }] },
    ]);
    expect((await session.commits()).commits[0]).toMatchObject({
      derivedFrom: [events[1]!.seq],
      cause: { callId: 'c1' },
    });
  });
});
