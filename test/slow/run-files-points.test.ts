import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ToolContext } from '../../src/core/ports/tool.ts';
import { contentOf, eventsOf, newFolder, startRunFiles, write } from '../support/files/start-run-files.ts';
import { storeKinds } from '../support/stores/stores.ts';

type Place = Pick<ToolContext, 'folder'>;

const markFile = ({ folder }: Place): string => join(dirname(folder), 'own-mark');
const readMark = (place: Place) => JSON.parse(readFileSync(markFile(place), 'utf8'));
const writeMark = (place: Place, mark: unknown): void => writeFileSync(markFile(place), JSON.stringify(mark));

/** Path to which a restore moved a file that was in its way. */
const aside = ({ folder }: Place, name: string): string => {
  const all = join(dirname(folder), 'aside');
  return join(all, ...readdirSync(all), name);
};

describe.each(storeKinds)('the files of a point, on %s', (kind) => {
  test('[FILE18] each session has its own worktree and its own temporary folder', async () => {
    const { agent, runtime, turn, sessionAt, seen } = await startRunFiles(kind);
    const other = await sessionAt(runtime, (await runtime.sessions.open({ agent })).id);
    await turn(write({ 'a.txt': 'of one' }));
    const first = seen();
    expect(await other.found()).toEqual({});
    expect(seen().folder).not.toBe(first.folder);
    expect(seen().temporary).not.toBe(first.temporary);
    expect(existsSync(seen().temporary)).toBe(true);
    expect(lstatSync(dirname(seen().folder)).mode & 0o077).toBe(0);
  });

  test('[FILE19] another machine, a fork and a rewind have exactly the files of the point', async () => {
    const { runtime, session, turn, found, elsewhere, sessionAt } = await startRunFiles(kind);
    const there = await elsewhere();
    await turn((context) => {
      write({ 'a.txt': 'one', 'run.sh': '#!/bin/sh\n' })(context);
      chmodSync(join(context.folder, 'run.sh'), 0o755);
      symlinkSync('a.txt', join(context.folder, 'link'));
    });
    const first = { 'a.txt': '644 one', 'run.sh': '755 #!/bin/sh\n', link: '-> a.txt' };
    await turn(write({ 'a.txt': 'two', 'b.txt': 'new' }));
    const second = { ...first, 'a.txt': '644 two', 'b.txt': '644 new' };
    expect(await there.found()).toEqual(second);
    const fork = await session.fork({ at: { turn: 1 } });
    const forkThere = await sessionAt(there.runtime, fork.id);
    expect(await forkThere.found()).toEqual(first);
    await forkThere.turn(write({ 'fork.txt': 'x' }));
    expect(await found()).toEqual(second);
    await session.rewind({ to: { turn: 1 } });
    expect(await found()).toEqual(first);
    expect(await there.found()).toEqual(first);
    expect(await (await sessionAt(runtime, fork.id)).found()).toEqual({ ...first, 'fork.txt': '644 x' });
    expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
  });

  test('[FILE19] an interrupted restore is started again', async () => {
    const { session, turn, found, seen } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one', 'b.txt': 'one' }));
    const [from] = readMark(seen()).trees;
    await turn(write({ 'a.txt': 'two', 'b.txt': 'two' }));
    writeMark(seen(), { ...readMark(seen()), from });
    writeFileSync(join(seen().folder, 'a.txt'), 'one');
    expect(await found()).toEqual({ 'a.txt': '644 two', 'b.txt': '644 two' });
    expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
    expect((await eventsOf(session, 'files.snapshotted')).length).toBe(2);
  });

  test('[FILE20] changes made in a worktree after an interrupted restore are kept and reported', async () => {
    const { session, turn, found, seen } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one', 'b.txt': 'one' }));
    const [from] = readMark(seen()).trees;
    await turn(write({ 'a.txt': 'two', 'b.txt': 'two' }));
    writeMark(seen(), { ...readMark(seen()), from });
    write({ 'a.txt': 'one', 'mine.txt': 'by hand' })(seen());
    expect(await found()).toEqual({ 'a.txt': '644 two', 'b.txt': '644 two' });
    expect((await eventsOf(session, 'files.conflicted')).map(({ payload }) => payload.paths)).toEqual([['mine.txt']]);
  });

  test("[FILE19] an interrupted restore in a person's own folder is finished, beside the person's later changes", async () => {
    const own = await newFolder();
    const { session, turn, found, resultOf } = await startRunFiles(kind, { files: { cwd: own } });
    await turn(write({ 'a.txt': 'one', 'b.txt': 'one' }));
    await session.files.write('a.txt', 'from elsewhere');
    await session.files.write('c/d.txt', 'from elsewhere');
    execFileSync('mkfifo', [join(own, 'c')]);
    expect(await resultOf('look')).toMatchObject({ status: 'failed', error: { code: 'CONFLICT' } });
    rmSync(join(own, 'c'));
    writeFileSync(join(own, 'b.txt'), 'by hand');
    expect(await found()).toEqual({
      'a.txt': '644 from elsewhere',
      'b.txt': '644 by hand',
      'c/d.txt': '644 from elsewhere',
    });
    expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
  });

  test('[FILE44] a link that replaces the worktree is not followed', async () => {
    const { session, turn, resultOf, seen } = await startRunFiles(kind);
    const elsewhere = await newFolder();
    writeFileSync(join(elsewhere, 'precious.txt'), 'mine');
    await turn(write({ 'a.txt': 'one' }));
    await turn(write({ 'a.txt': 'two' }));
    rmSync(seen().folder, { recursive: true });
    symlinkSync(elsewhere, seen().folder);
    await session.rewind({ to: { turn: 1 } });
    expect(await resultOf('look')).toMatchObject({ status: 'failed', error: { code: 'FILE_UNAVAILABLE' } });
    expect(contentOf(elsewhere)).toEqual({ 'precious.txt': '644 mine' });
    await expect(session.files.read('precious.txt')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
  });

  test("[FILE19] a rewind takes effect even if the worker died between a call's outcome and marking its worktree", async () => {
    const { session, turn, found, seen } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one' }));
    const before = readMark(seen());
    await turn(write({ 'a.txt': 'two' }));
    const after = readMark(seen());
    writeMark(seen(), { ...after, trees: [...before.trees, ...after.trees] });
    await session.rewind({ to: { turn: 1 } });
    expect(await found()).toEqual({ 'a.txt': '644 one' });
  });

  test('[FILE19] a rewind takes effect even if a cancelled call had written files', async () => {
    const { session, turn, found, cancelAfter } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one' }));
    await cancelAfter(write({ 'a.txt': 'half' }));
    await session.rewind({ to: { turn: 1 } });
    expect(await found()).toEqual({ 'a.txt': '644 one' });
    expect((await eventsOf(session, 'files.conflicted')).map(({ payload }) => payload.paths)).toEqual([['a.txt']]);
  });

  test("[FILE43] a file that is in no snapshot and in the way of a session's own files is moved beside its worktree", async () => {
    const { session, turn, found, seen } = await startRunFiles(kind);
    await turn(write({ 'logs/run.log': 'small', 'b.txt': 'one' }));
    await turn(({ folder }) => {
      execFileSync('truncate', ['-s', '40M', join(folder, 'logs/run.log')]);
    });
    await session.rewind({ to: { turn: 1 } });
    expect(await found()).toEqual({ 'logs/run.log': '644 small', 'b.txt': '644 one' });
    expect(lstatSync(aside(seen(), 'logs/run.log')).size).toBe(40 * 1024 * 1024);
  });

  test('[FILE8] an ignored file survives a restore of a point that has a file of that name', async () => {
    for (const cwd of [undefined, await newFolder()]) {
      const { session, turn, found, seen, resultOf } = await startRunFiles(kind, { ...(cwd && { files: { cwd } }) });
      await turn(write({ '.env': 'one' }));
      await turn(write({ '.env': 'two', '.perdureignore': '.env' }));
      const restored = session.files.restore({ turn: 1 });
      if (cwd) {
        await expect(restored).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('.env') });
        expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe('two');
        rmSync(join(cwd, '.env'));
      } else {
        await restored;
        await resultOf('look');
        expect(readFileSync(aside(seen(), '.env'), 'utf8')).toBe('two');
      }
      expect(await found()).toEqual({ '.env': '644 one' });
    }
  });

  test.each(['a link', 'a file'])(
    "[FILE8] %s in place of the runtime's own folder does not block the files of a point",
    async (what) => {
      const { session, turn, found, seen } = await startRunFiles(kind);
      await turn(write({ 'a.txt': 'one' }));
      const elsewhere = await newFolder();
      await turn(({ folder }) => {
        writeFileSync(join(folder, 'a.txt'), 'two');
        if (what === 'a link') symlinkSync(elsewhere, join(folder, '.perdure'));
        else writeFileSync(join(folder, '.perdure'), 'mine');
      });
      await session.rewind({ to: { turn: 1 } });
      expect(await found()).toEqual({ 'a.txt': '644 one' });
      expect(readdirSync(elsewhere)).toEqual([]);
      expect(lstatSync(aside(seen(), '.perdure')).isSymbolicLink()).toBe(what === 'a link');
    },
  );

  test.skipIf(process.getuid?.() === 0)(
    '[FILE8] an unreadable file in the way is moved beside the worktree (root can read everything)',
    async () => {
      const { session, turn, found } = await startRunFiles(kind);
      await turn(write({ 'closed/a.txt': 'one', 'fixed/b.txt': 'one' }));
      await turn(({ folder }) => {
        chmodSync(join(folder, 'closed'), 0);
        chmodSync(join(folder, 'fixed/b.txt'), 0);
        chmodSync(join(folder, 'fixed'), 0o555);
      });
      await session.rewind({ to: { turn: 1 } });
      expect(await found()).toEqual({ 'closed/a.txt': '644 one', 'fixed/b.txt': '644 one' });
    },
  );
});
