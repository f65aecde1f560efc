import { describe, expect, test } from 'vitest';
import { interruptedStore } from '../../../test/support/stores/interrupted-store.ts';
import { openRuntime } from '../../runtime.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from '../runtime/session.ts';

const open = async () => (await openRuntime({ store: openMemoryStore() })).sessions.open();
const set = (session: Session, facts: object, options = {}) =>
  session.commit((draft) => Object.assign(draft.facts, facts), options);

describe('an adoption', () => {
  test('[ADO1, STATE4] is decided again when another process has committed in between', async () => {
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

  test('[ADO2] compares with the state at the previous adoption', async () => {
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

  test('[ADO2] does not compare with an adoption that was reverted or rewound', async () => {
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

  describe('after f = 1, a fork that sets 2, and its adoption', () => {
    const adopted = async () => {
      const session = await open();
      await set(session, { f: 1 });
      const branch = await session.fork();
      await set(branch, { f: 2 });
      const { commit } = await session.adopt(branch);
      return { session, branch, seq: commit!.seq };
    };
    const takes = { adopted: ['/facts/f'], conflicts: [] };

    test("[ADO2] the branch can adopt the session's later changes", async () => {
      const { session, branch } = await adopted();
      await set(session, { f: 3 });
      expect(await branch.adopt(session)).toMatchObject(takes);
      await set(session, { f: 1 });
      expect(await branch.adopt(session)).toMatchObject(takes);
      expect((await branch.state()).facts.f).toBe(1);
    });

    test('[ADO1] after a second adoption is reverted, the next adoption compares with the first', async () => {
      const { session, branch } = await adopted();
      await set(branch, { f: 3 });
      const { commit } = await session.adopt(branch);
      await session.revert(commit!.seq);
      expect(await session.adopt(branch)).toMatchObject(takes);
      expect((await session.state()).facts.f).toBe(3);
    });

    test.each([3, 1])(
      '[ADO1] an adoption that was reverted and restored is the base of the next one, when the branch sets %s',
      async (f) => {
        const { session, branch, seq } = await adopted();
        const back = await session.revert(seq);
        await session.revert(back!.seq);
        await set(branch, { f });
        expect(await session.adopt(branch)).toMatchObject(takes);
        expect((await session.state()).facts.f).toBe(f);
        await session.revert((await session.commits({ limit: 1 })).commits[0]!.seq);
        const third = await session.revert(seq);
        expect((await session.state()).facts.f).toBe(1);
        expect(await session.adopt(branch)).toMatchObject(f === 1 ? { adopted: [], conflicts: [] } : takes);
        expect(third).toBeDefined();
      },
    );

    test('[ADO2] a fork of the branch can be adopted too, by the session and by a fork of it', async () => {
      const { session, branch } = await adopted();
      const grandchild = await branch.fork();
      const beside = await session.fork();
      await set(grandchild, { f: 3 });
      expect(await session.adopt(grandchild)).toMatchObject(takes);
      expect(await beside.adopt(grandchild)).toMatchObject(takes);
      await set(beside, { f: 4 });
      expect(await grandchild.adopt(beside)).toMatchObject(takes);
    });

    test('[ADO3] the base of an entry is searched in the newest 32 adoptions of the branch, and then at the fork', async () => {
      const { session, branch } = await adopted();
      await set(session, { f: 'ours' });
      const baseAfterAdoption = async (number: number) => {
        await set(branch, { f: `theirs ${number}`, number });
        return (await session.adopt(branch)).conflicts[0]?.base;
      };
      for (let number = 2; number <= 33; number++)
        expect([number, await baseAfterAdoption(number)]).toEqual([number, 2]);
      expect(await baseAfterAdoption(34)).toBe(1);
    });

    test('[ADO3] changes from a third branch are treated as changes of this session', async () => {
      const session = await open();
      await set(session, { f: 1 });
      const [branch, third] = [await session.fork(), await session.fork()];
      await set(branch, { f: 2 });
      await session.adopt(branch);
      await third.adopt(session);
      await set(branch, { f: 3 });
      expect(await third.adopt(branch)).toMatchObject({
        conflicts: [{ path: '/facts/f', base: 1, ours: 2, theirs: 3 }],
      });
    });
  });

  describe('a fact and its pin', () => {
    const parted = async () => {
      const session = await open();
      await set(session, { a: 1, b: 1 });
      const branch = await session.fork();
      await set(branch, { b: 2 });
      return { session, branch };
    };
    const drop = (session: Session) =>
      session.commit((draft) => {
        delete draft.facts.a;
      });
    const known = async (session: Session) => {
      const { facts, pins } = await session.state();
      return { facts, pins };
    };

    test('[ADO4, STATE1] a fact that the branch removed and the session pinned is a conflict', async () => {
      const { session, branch } = await parted();
      await session.pin('a');
      await drop(branch);
      const conflicts = [{ path: '/facts/a' }, { path: '/pins/a' }];
      await expect(session.adopt(branch, { onConflict: 'fail' })).rejects.toMatchObject({ code: 'ADOPT_CONFLICT' });
      const other = await session.fork();
      expect(await session.adopt(branch)).toMatchObject({ adopted: ['/facts/b'], conflicts });
      expect(await known(session)).toEqual({ facts: { a: 1, b: 2 }, pins: { a: true } });
      expect(await other.adopt(branch, { onConflict: 'theirs' })).toMatchObject({ conflicts });
      expect(await known(other)).toEqual({ facts: { b: 2 }, pins: {} });
    });

    test('[ADO4, STATE1] a fact that the session removed and the branch pinned is a conflict', async () => {
      const { session, branch } = await parted();
      await drop(session);
      await branch.pin('a');
      const other = await session.fork();
      const conflicts = [{ path: '/facts/a' }, { path: '/pins/a' }];
      expect(await session.adopt(branch)).toMatchObject({ adopted: ['/facts/b'], conflicts });
      expect(await known(session)).toEqual({ facts: { b: 2 }, pins: {} });
      expect(await other.adopt(branch, { onConflict: 'theirs' })).toMatchObject({ conflicts });
      expect(await known(other)).toEqual({ facts: { a: 1, b: 2 }, pins: { a: true } });
    });

    test('[ADO1] a pin of the session is no conflict if its fact keeps its value in the session', async () => {
      const { session, branch } = await parted();
      await set(session, { a: 2 });
      await session.pin('a');
      await drop(branch);
      const { conflicts } = await session.adopt(branch);
      expect(conflicts.map(({ path }) => path)).toEqual(['/facts/a']);
      expect(await known(session)).toEqual({ facts: { a: 2, b: 2 }, pins: { a: true } });
    });

    test('[ADO1] a pin on one side and a new value of its fact on the other are no conflict', async () => {
      const { session, branch } = await parted();
      await session.pin('b');
      expect(await session.adopt(branch)).toMatchObject({ adopted: ['/facts/b'], conflicts: [] });
    });
  });

  test('[ADO1] reports its entries in order, and ignores tool counters', async () => {
    const session = await open();
    const branch = await session.fork();
    const files = ({ path }: { path: string }) => ({ [path]: 'modified' as const });
    const { edit } = await branch.track({ edit: async (_: { path: string }) => 'ok' }, { edit: { files } });
    await edit({ path: 'src/b.ts' });
    await edit({ path: 'src/a.ts' });
    await set(branch, { port: 1 });
    const { adopted } = await session.adopt(branch);
    expect(adopted).toEqual(['/facts/port', '/filesModified/src~1a.ts', '/filesModified/src~1b.ts']);
    expect((await session.state()).toolsUsed).toEqual({});
  });

  test('[IN1] an invalid branch or option is rejected', async () => {
    const session = await open();
    const branch = await session.fork();
    for (const work of [
      session.adopt(null as never),
      session.adopt(branch, { onconflict: 'fail' } as never),
      session.adopt(branch, { why: 5 } as never),
    ]) {
      await expect(work).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
  });

  test('[ADO1, PROV3] an entry that a branch removed does not lower the provenance of the others', async () => {
    const session = await open();
    await set(session, { gone: 1 });
    const branch = await session.fork();
    await set(branch, { sure: 1 }, { provenance: 'verified' });
    await branch.commit([{ op: 'remove', path: '/facts/gone' }]);
    const { commit, adopted } = await session.adopt(branch);
    expect(adopted).toEqual(['/facts/gone', '/facts/sure']);
    expect(commit).toMatchObject({ provenance: 'verified', entryProvenance: { '/facts/sure': 'verified' } });
    expect(Object.keys(commit!.entryProvenance!)).toEqual(['/facts/sure']);
  });

  test('[ADO1, PROV4] every entry keeps its provenance', async () => {
    const session = await open();
    const branch = await session.fork();
    await set(branch, { sure: 1 }, { provenance: 'verified' });
    await set(branch, { rumour: 1 }, { by: 'model', provenance: 'unverified' });
    const { commit } = await session.adopt(branch);
    expect(commit).toMatchObject({
      provenance: 'unverified',
      entryProvenance: { '/facts/sure': 'verified', '/facts/rumour': 'unverified' },
    });
    const found = async (path: string) => (await session.commits({ path, provenance: 'verified' })).commits;
    expect(await found('/facts/sure')).toMatchObject([{ seq: commit!.seq }]);
  });
});
