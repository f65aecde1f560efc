import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tryLock } from '../../src/core/files/disk/place-lock.ts';
import { openRuntime } from '../../src/index.ts';
import { contentOf, eventsOf, newFolder, startRunFiles, write } from '../support/files/start-run-files.ts';
import { storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)("a person's own folder, on %s", (kind) => {
  test("[FILE23] calls work in the folder, the person's changes are recorded, and forks use another folder", async () => {
    const own = await newFolder();
    writeFileSync(join(own, 'a.txt'), 'mine');
    const { runtime, session, turn, sessionAt, seen } = await startRunFiles(kind, { files: { cwd: own } });
    await turn(write({ 'b.txt': 'by the agent' }));
    expect(seen().folder).toBe(own);
    writeFileSync(join(own, 'a.txt'), 'mine again');
    await turn(write({ 'c.txt': 'x' }));
    expect((await session.commits({ path: '/filesModified/a.txt' })).commits.map(({ actor }) => actor)).toEqual([
      'outside',
    ]);
    const fork = await sessionAt(runtime, (await session.fork({ at: { turn: 1 } })).id);
    await fork.turn(write({ 'fork.txt': 'x' }));
    expect(seen().folder).not.toBe(own);
    expect(await fork.found()).toEqual({
      'a.txt': '644 mine',
      'b.txt': '644 by the agent',
      'fork.txt': '644 x',
    });
    expect(contentOf(own)).toMatchObject({ 'a.txt': '644 mine again', 'c.txt': '644 x' });
    expect(existsSync(join(own, 'fork.txt'))).toBe(false);
  });

  test('[FILE23, FILE51] a rewind leaves the folder alone', async () => {
    const own = await newFolder();
    const { session, turn, found, seen } = await startRunFiles(kind, { files: { cwd: own } });
    await turn(write({ 'a.txt': 'one' }));
    await turn(write({ 'a.txt': 'two' }));
    await session.rewind({ to: { turn: 1 } });
    expect(await found()).toEqual({ 'a.txt': '644 two' });
    expect(seen().folder).toBe(own);
  });

  test('[FILE23] one session at a time: another is rejected there and in subfolders until the first is closed', async () => {
    const own = await newFolder();
    mkdirSync(join(own, 'below'));
    const { agent, runtime, session, resultOf, sessionAt } = await startRunFiles(kind, { files: { cwd: own } });
    for (const folder of [own, join(own, 'below')]) {
      await expect(runtime.sessions.open({ agent, files: { cwd: folder } })).rejects.toMatchObject({
        code: 'CONFLICT',
        message: expect.stringContaining(session.id),
      });
    }
    await session.close();
    const next = await sessionAt(runtime, (await runtime.sessions.open({ agent, files: { cwd: own } })).id);
    await next.turn(write({ 'a.txt': 'x' }));
    await session.reopen();
    expect(await resultOf('act')).toMatchObject({ status: 'failed', error: { code: 'CONFLICT' } });
  });

  test.each(['closed', 'archived'])('[FILE47] a session that is %s leaves nothing in the folder', async (status) => {
    const own = await newFolder();
    const bound = join(own, '.perdure', 'bound.json');
    const { session, turn, elsewhere } = await startRunFiles(kind, { files: { cwd: own } });
    await turn(write({ 'a.txt': 'x' }));
    if (status === 'closed') await session.close();
    else {
      await (await elsewhere()).session.close();
      expect(existsSync(bound)).toBe(true);
      await session.archive();
    }
    expect(readdirSync(own)).toEqual(['a.txt']);
    await expect(session.files.restore({ turn: 0 })).rejects.toMatchObject({ code: 'ILLEGAL_TRANSITION' });
    expect(readdirSync(own)).toEqual(['a.txt']);
  });

  test('[FILE23, FILE47] closing a session keeps what another session has put in the folder meanwhile', async () => {
    const own = await newFolder();
    const bound = join(own, '.perdure', 'bound.json');
    const { session } = await startRunFiles(kind, { files: { cwd: own } });
    const theirs = JSON.stringify({ workspace: 'local', session: 'ses_of_another_store' });
    writeFileSync(bound, theirs);
    await session.close();
    expect(readFileSync(bound, 'utf8')).toBe(theirs);
    expect(readdirSync(dirname(bound))).toEqual(['bound.json']);
  });

  test('[FILE23] a missing folder is not recreated, and nothing is recorded as deleted', async () => {
    const own = join(await newFolder(), 'own');
    mkdirSync(own);
    const { session, turn, resultOf, found } = await startRunFiles(kind, { files: { cwd: own } });
    await turn(write({ 'a.txt': 'x' }));
    renameSync(own, `${own}-elsewhere`);
    expect(await resultOf('look')).toMatchObject({ status: 'failed', error: { code: 'FILE_UNAVAILABLE' } });
    expect(existsSync(own)).toBe(false);
    renameSync(`${own}-elsewhere`, own);
    expect(await found()).toEqual({ 'a.txt': '644 x' });
    expect(await eventsOf(session, 'files.snapshotted')).toHaveLength(2);
  });

  test('[FILE23] a reopened session works there once all others are closed, but not while one works in a parent folder', async () => {
    const own = await newFolder();
    const below = join(own, 'below');
    mkdirSync(below);
    const { agent, runtime, session, turn, resultOf, seen } = await startRunFiles(kind, { files: { cwd: below } });
    await session.close();
    const above = await runtime.sessions.open({ agent, files: { cwd: own } });
    await session.reopen();
    expect(await resultOf('act')).toMatchObject({ status: 'failed', error: { code: 'CONFLICT' } });
    await above.close();
    await turn(write({ 'a.txt': 'x' }));
    await session.close();
    const other = await runtime.sessions.open({ agent, files: { cwd: below } });
    await other.close();
    await session.reopen();
    await turn(write({ 'b.txt': 'x' }));
    expect(seen().folder).toBe(below);
  });

  test('[FILE23] a folder is rejected while another session works in a subfolder', async () => {
    const own = await newFolder();
    mkdirSync(join(own, 'further', 'down'), { recursive: true });
    const { agent, runtime, session } = await startRunFiles(kind, { files: { cwd: join(own, 'further', 'down') } });
    await expect(runtime.sessions.open({ agent, files: { cwd: own } })).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining(session.id),
    });
    await session.close();
    await runtime.sessions.open({ agent, files: { cwd: own } });
  });

  test('[FILE22, FILE47] the root of the file system is rejected', async () => {
    const { runtime } = await startRunFiles(kind);
    for (const files of [{ cwd: '/' }, { from: '/' }]) {
      await expect(runtime.sessions.open({ files })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    expect(existsSync('/.perdure/bound.json')).toBe(false);
  });

  test('[FILE47] a folder that contains the store is rejected', async () => {
    const folder = await newFolder();
    const runtime = await openRuntime({ store: `sqlite:${join(folder, 'perdure.db')}` });
    onTestFinished(() => runtime.close());
    for (const files of [{ cwd: folder }, { from: folder }]) {
      await expect(runtime.sessions.open({ files })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
        message: expect.stringContaining('.perdure'),
      });
    }
  });

  test("[FILE28] a restore changes a person's folder immediately, after the person's changes are in the log", async () => {
    const own = await newFolder();
    writeFileSync(join(own, 'a.txt'), 'zero');
    mkdirSync(join(own, 'node_modules'));
    writeFileSync(join(own, 'node_modules', 'x'), 'ignored');
    const { session, turn } = await startRunFiles(kind, { files: { cwd: own } });
    await turn(write({ 'a.txt': 'one', 'b.txt': 'one' }));
    await turn(write({ 'a.txt': 'two' }));
    writeFileSync(join(own, 'a.txt'), 'by hand');
    await session.files.restore({ turn: 1 });
    expect(contentOf(own)).toEqual({ 'a.txt': '644 one', 'b.txt': '644 one', 'node_modules/x': '644 ignored' });
    const [outside] = (await session.commits({ path: '/filesModified/a.txt' })).commits.filter(
      ({ actor }) => actor === 'outside',
    );
    const before = await session.files.read('a.txt', { at: { seq: outside!.seq } });
    expect(Buffer.from(before).toString()).toBe('by hand');
    await turn(write({ 'c.txt': 'x' }));
    expect(contentOf(own)).toMatchObject({ 'a.txt': '644 one', 'c.txt': '644 x' });
    expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
  });

  test("[FILE28] a restore during a run in a person's folder returns immediately, and the next call finds the restored files", async () => {
    const own = await newFolder();
    const { session, turn, found } = await startRunFiles(kind, { files: { cwd: own } });
    await turn(write({ 'a.txt': 'one' }));
    await turn(write({ 'a.txt': 'two' }));
    let during: unknown;
    await turn(async () => {
      await session.files.restore({ turn: 1 });
      during = contentOf(own);
    });
    expect(during).toEqual({ 'a.txt': '644 two' });
    expect(await found()).toEqual({ 'a.txt': '644 one' });
  });

  test("[FILE48] a run that begins while a person's folder is restored waits for the restore, and vice versa", async () => {
    const own = await newFolder();
    const { agent, runtime, data, session, turn, work, sessionAt, set } = await startRunFiles(kind, {
      files: { cwd: own },
    });
    await turn(write({ 'a.txt': 'one' }));
    await turn(write({ 'a.txt': 'two' }));
    const place = { lockFile: join(data, 'worktrees', 'local', session.id, 'lock') };
    const somethingElse = async () => {
      const other = await sessionAt(runtime, (await runtime.sessions.open({ agent })).id);
      await other.found();
    };

    const restoring = (await tryLock(place))!;
    set(write({ 'a.txt': 'by the run' }));
    const run = await session.send('act');
    const working = work();
    for await (const { type } of run.events()) if (type === 'tool.called') break;
    await somethingElse();
    expect(contentOf(own)).toEqual({ 'a.txt': '644 two' });
    restoring[Symbol.dispose]();
    await working;
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    expect(contentOf(own)).toEqual({ 'a.txt': '644 by the run' });

    const running = (await tryLock(place))!;
    const restored = session.files.restore({ turn: 1 });
    await somethingElse();
    expect(contentOf(own)).toEqual({ 'a.txt': '644 by the run' });
    running[Symbol.dispose]();
    await restored;
    expect(contentOf(own)).toEqual({ 'a.txt': '644 one' });
  });

  test('[FILE29] on another machine, even one of the same name, the files are in a folder of that machine', async () => {
    const own = await newFolder();
    const { session, data, machine, turn, elsewhere, sessionAt, seen } = await startRunFiles(kind, {
      files: { cwd: own },
    });
    const there = await elsewhere();
    await turn(write({ 'a.txt': 'one' }));
    writeFileSync(join(own, 'mine.txt'), 'not told yet');
    expect(await there.found()).toEqual({ 'a.txt': '644 one' });
    expect(seen().folder).not.toBe(own);
    const again = await sessionAt(await machine(data), session.id);
    await again.found();
    expect(seen().folder).toBe(own);
  });

  test("[FILE11] a link that replaces the runtime's own folder is not followed", async () => {
    const [own, elsewhere] = [await newFolder(), await newFolder()];
    symlinkSync(elsewhere, join(own, '.perdure'));
    const { agent, runtime } = await startRunFiles(kind);
    await expect(runtime.sessions.open({ agent, files: { cwd: own } })).rejects.toMatchObject({
      code: 'FILE_UNAVAILABLE',
      message: expect.stringContaining('.perdure'),
    });
    expect(readdirSync(elsewhere)).toEqual([]);
  });
});
