import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../src/index.ts';
import {
  contentOf,
  eventsOf,
  filesOf,
  newFolder,
  startRunFiles,
  whoseFolders,
  write,
} from '../support/files/start-run-files.ts';
import { storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('concurrent file changes from outside, on %s', (kind) => {
  test('[FILE20] changes that belong to no call are committed as made outside before the next call', async () => {
    const { session, turn, found, seen } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one', 'b.txt': 'one' }));
    writeFileSync(join(seen().folder, 'a.txt'), 'by hand');
    await turn(write({ 'b.txt': 'two' }));
    const commits = (await session.commits({ path: '/filesModified/**' })).commits;
    expect(commits.map(({ actor, delta }) => [actor, delta.map(({ path }) => path)])).toEqual([
      ['tool:act', expect.arrayContaining([expect.stringMatching(/^\/filesModified\/b\.txt/)])],
      ['outside', expect.arrayContaining([expect.stringMatching(/^\/filesModified\/a\.txt/)])],
      ['tool:act', expect.arrayContaining(['/filesModified/a.txt', '/filesModified/b.txt'])],
    ]);
    expect((await session.state()).filesModified['a.txt']).toEqual({ change: 'modified', after: expect.any(Number) });
    expect(await found()).toEqual({ 'a.txt': '644 by hand', 'b.txt': '644 two' });
  });

  test("[FILE20, FILE55] outside changes are kept before a rewind or another machine's files replace them", async () => {
    const { session, turn, found, seen } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one' }));
    await turn(write({ 'a.txt': 'two' }));
    writeFileSync(join(seen().folder, 'mine.txt'), 'by hand');
    await session.rewind({ to: { turn: 1 } });
    expect(await found()).toEqual({ 'a.txt': '644 one' });
    const [kept] = await eventsOf(session, 'files.conflicted');
    expect(kept).toMatchObject({ actor: 'outside', payload: { paths: expect.arrayContaining(['mine.txt']) } });
    const mine = await session.files.read('mine.txt', { setAside: kept!.seq });
    expect(Buffer.from(mine).toString()).toBe('by hand');
    await expect(session.files.list({ setAside: 1 })).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
    await expect(session.files.list({ setAside: 1, at: { seq: 1 } })).rejects.toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[FILE20] changes made after a cancelled call was inspected are not attributed to that call', async () => {
    const { session, turn, cancelAfter, found, seen } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one' }));
    await cancelAfter(() => undefined);
    await found();
    writeFileSync(join(seen().folder, 'a.txt'), 'by hand');
    await found();
    const [last] = (await session.commits({ path: '/filesModified/a.txt' })).commits;
    expect(last).toMatchObject({ actor: 'outside' });
  });

  test.each(whoseFolders)(
    '[FILE20] changes seen in %s folder but not recorded before a crash are not overwritten by a write from elsewhere',
    async (whose) => {
      const files = await filesOf(whose);
      const { runtime, session, data, turn, found, seen } = await startRunFiles(kind, { files });
      await turn(write({ 'a.txt': 'one' }));
      writeFileSync(join(seen().folder, 'mine.txt'), 'by hand');
      const twin = await runtime.sessions.open({ files: { from: seen().folder } });
      const [{ payload }] = (await eventsOf(twin, 'files.snapshotted')) as [SessionEvent<'files.snapshotted'>];
      const mark = join(data, 'worktrees', 'local', session.id, `${files ? 'bound' : 'own'}-mark`);
      const { trees, ...rest } = JSON.parse(readFileSync(mark, 'utf8'));
      writeFileSync(mark, JSON.stringify({ ...rest, trees: [...trees, payload.tree] }));
      await session.files.write('b.txt', 'from elsewhere');
      const both = { 'a.txt': '644 one', 'b.txt': '644 from elsewhere' };
      if (files) expect(await found()).toEqual({ ...both, 'mine.txt': '644 by hand' });
      else {
        expect(await found()).toEqual(both);
        const [kept] = await eventsOf(session, 'files.conflicted');
        expect(kept!.payload).toMatchObject({ tree: payload.tree, paths: expect.arrayContaining(['mine.txt']) });
      }
    },
  );

  test("[FILE27, FILE57] a write from elsewhere during a call is merged with the call's changes before the next call", async () => {
    const { session, turn, found } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one', 'b.txt': 'one' }));
    await turn(async (context) => {
      await session.files.write('b.txt', 'by a person');
      await session.files.write('new.txt', 'by a person');
      write({ 'a.txt': 'by the call' })(context);
    });
    expect(await found()).toEqual({
      'a.txt': '644 by the call',
      'b.txt': '644 by a person',
      'new.txt': '644 by a person',
    });
    expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
    await session.files.write('later.txt', 'x');
    await session.files.delete('a.txt');
    expect(await found()).toEqual({
      'b.txt': '644 by a person',
      'new.txt': '644 by a person',
      'later.txt': '644 x',
    });
  });

  test('[FILE27, FILE57] when both wrote the same file, the worktree keeps its own version, and the other is reported and kept', async () => {
    const { session, turn, found } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one' }));
    let written = 0;
    await turn(async (context) => {
      await session.files.write('a.txt', 'by a person');
      written = (await session.summary()).seq;
      write({ 'a.txt': 'by the call' })(context);
    });
    const [conflict] = await eventsOf(session, 'files.conflicted');
    expect(conflict!.payload).toMatchObject({ paths: ['a.txt'], conflicts: 1 });
    expect(await found()).toEqual({ 'a.txt': '644 by the call' });
    const theirs = await session.files.read('a.txt', { at: { seq: written } });
    expect(Buffer.from(theirs).toString()).toBe('by a person');
  });

  test.each(whoseFolders)(
    '[FILE27] a lost call that runs again in %s folder finds later writes from elsewhere and its own leftovers',
    async (whose) => {
      const { turn, loseAfter, set, seen } = await startRunFiles(kind, { files: await filesOf(whose) });
      await turn(write({ 'a.txt': 'one' }));
      const { session, work } = await loseAfter(write({ 'half.txt': 'half' }), 'repeat');
      await session.files.write('a.txt', 'from elsewhere');
      let there: unknown;
      set((context) => {
        there = contentOf(context.folder);
        write({ 'whole.txt': 'whole' })(context);
      });
      await work();
      expect(there).toEqual({ 'a.txt': '644 from elsewhere', 'half.txt': '644 half' });
      expect(contentOf(seen().folder)).toEqual({ ...(there as object), 'whole.txt': '644 whole' });
      const [call] = (await session.toolCalls()).calls;
      expect(call).toMatchObject({ tool: 'repeat', status: 'ok' });
      const by = { change: 'created', tool: 'repeat', callId: call!.callId };
      expect((await session.state()).filesModified).toMatchObject({ 'half.txt': by, 'whole.txt': by });
      expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
      expect(await session.verify()).toMatchObject({ ok: true });
    },
  );

  test("[FILE27] in a person's own folder, writes from elsewhere are added beside the person's changes", async () => {
    const own = await newFolder();
    const { session, turn, found } = await startRunFiles(kind, { files: { cwd: own } });
    await turn(write({ 'a.txt': 'one', 'b.txt': 'one' }));
    await session.files.write('a.txt', 'from elsewhere');
    await session.files.write('c.txt', 'from elsewhere');
    writeFileSync(join(own, 'b.txt'), 'by hand');
    writeFileSync(join(own, 'c.txt'), 'by hand');
    expect(await found()).toEqual({
      'a.txt': '644 from elsewhere',
      'b.txt': '644 by hand',
      'c.txt': '644 by hand',
    });
    expect((await eventsOf(session, 'files.conflicted')).map(({ payload }) => payload.paths)).toEqual([['c.txt']]);
  });
});
