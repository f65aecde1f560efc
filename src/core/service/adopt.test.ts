import { describe, expect, test } from 'vitest';
import { interruptedStore } from '../../../test/interrupted-store.ts';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from './session.ts';

const open = async () => (await openRuntime({ store: openMemoryStore() })).sessions.open();
const set = (session: Session, facts: object, options = {}) =>
  session.commit((draft) => Object.assign(draft.facts, facts), options);

describe('an adoption', () => {
  test('[ADO1, STATE4] is judged again when another process has committed in between', async () => {
    const { store, beside, interrupt } = interruptedStore();
    const session = await (await openRuntime({ store })).sessions.open();
    await set(session, { a: 1 });
    const branch = await session.fork();
    await set(branch, { a: 'theirs', b: 'theirs' });
    const elsewhere = await (await openRuntime({ store: beside })).sessions.get(session.id);
    interrupt(() => set(elsewhere, { a: 'ours' }));
    expect(await session.adopt(branch)).toMatchObject({ adopted: ['/facts/b'], conflicts: [{ path: '/facts/a' }] });
    expect((await session.state()).facts).toEqual({ a: 'ours', b: 'theirs' });
  });

  test('[ADO1] goes on from the one before it', async () => {
    const session = await open();
    await set(session, { a: 1, b: 1 });
    const branch = await session.fork();
    await set(branch, { a: 2 });
    await session.adopt(branch);
    await set(branch, { a: 3, b: 2 });
    expect(await session.adopt(branch)).toMatchObject({ adopted: ['/facts/a', '/facts/b'], conflicts: [] });
    await set(session, { a: 'ours' });
    await set(branch, { a: 4 });
    expect(await session.adopt(branch)).toMatchObject({
      adopted: [],
      conflicts: [{ path: '/facts/a', base: 3, ours: 'ours', theirs: 4 }],
    });
    await branch.commit((draft) => {
      delete draft.facts.b;
    });
    expect(await session.adopt(branch)).toMatchObject({ adopted: ['/facts/b'] });
    expect((await session.state()).facts).toEqual({ a: 'ours' });
  });

  test('[ADO1] one that was taken back or rewound is not gone on from', async () => {
    const session = await open();
    await session.append([
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: 'ho' },
    ]);
    const start = await set(session, { a: 1 });
    const branch = await session.fork();
    await set(branch, { a: 2 });
    const { commit } = await session.adopt(branch);
    await session.revert(commit!.seq);
    expect(await session.adopt(branch)).toMatchObject({ adopted: ['/facts/a'], conflicts: [] });
    await session.rewind({ to: { seq: start!.seq } });
    expect(await session.adopt(branch)).toMatchObject({ adopted: ['/facts/a'], conflicts: [] });
  });

  test('[ADO1, PROV3] every entry keeps its provenance', async () => {
    const session = await open();
    const branch = await session.fork();
    await set(branch, { sure: 1 }, { provenance: 'verified' });
    await set(branch, { rumour: 1 }, { by: 'model', provenance: 'unverified' });
    const { commit } = await session.adopt(branch);
    expect(commit).toMatchObject({
      provenance: 'unverified',
      entryProvenance: { '/facts/sure': 'verified', '/facts/rumour': 'unverified' },
    });
    const found = (path: string) => session.commits({ path, provenance: 'verified' });
    expect(await found('/facts/sure')).toMatchObject([{ seq: commit!.seq }]);
  });
});
