import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { Worktrees } from '../../src/core/files/disk/worktrees.ts';
import { emptyTree } from '../../src/core/files/tree.ts';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { hostilePaths } from '../support/files/hostile-paths.ts';
import { runtimeKinds, runtimePlace } from '../support/stores/runtime-places.ts';

const texts = async (session: Session, at?: { readonly seq: number }): Promise<Record<string, string>> => {
  const listed = await session.files.list(at && { at });
  const files = listed.filter(({ kind }) => kind === 'file');
  const read = files.map(async ({ path }) => [
    path,
    Buffer.from(await session.files.read(path, at && { at })).toString(),
  ]);
  return Object.fromEntries(await Promise.all(read));
};

const seqOf = async (session: Session): Promise<number> => (await session.summary()).seq;

describe.each(runtimeKinds)('the files of a session on %s', (kind) => {
  let place: Awaited<ReturnType<typeof runtimePlace>>;
  let runtime: Runtime;
  let other: Runtime;
  beforeAll(async () => {
    place = await runtimePlace(kind);
    [runtime, other] = [await place.open(), await place.open()];
  });
  afterAll(async () => {
    await Promise.all([runtime.close(), other.close()]);
    await place.remove();
  });
  const begin = async (files: Record<string, string> = {}): Promise<Session> => {
    const session = await runtime.sessions.open();
    for (const [path, text] of Object.entries(files)) await session.files.write(path, text);
    return session;
  };

  test('[FILE30] written files are listed and read, now and at every point, by any process', async () => {
    const session = await begin();
    expect(await session.files.list()).toEqual([]);
    const first = await session.files.write('src/main.ts', 'one\n');
    await session.files.write('src/main.ts', Buffer.from([0, 255, 1]), { mode: 0o755 });
    const there = await other.sessions.get(session.id);
    expect(await there.files.list()).toEqual([
      { path: 'src', kind: 'folder', mode: 0o755, hash: expect.any(String) },
      { path: 'src/main.ts', kind: 'file', mode: 0o755, size: 3, hash: expect.any(String) },
    ]);
    expect(await there.files.list({ path: 'src/main.ts' })).toHaveLength(1);
    expect(await there.files.list({ at: { seq: 1 } })).toEqual([]);
    expect([...(await there.files.read('src/main.ts'))]).toEqual([0, 255, 1]);
    expect(Buffer.from(await there.files.read('./src//main.ts', { at: { seq: first.seq! } })).toString()).toBe('one\n');
    await there.files.delete('src', { why: 'not needed' });
    expect(await session.files.list()).toEqual([]);
  });

  test('[FILE30, FILE58] a missing path is reported with nearby names, and a folder or link is reported as such', async () => {
    const session = await begin({ 'src/main.ts': '1', 'src/other.ts': '2', README: '3' });
    const reading = (path: string) => session.files.read(path);
    await expect(reading('src/Main.js')).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      details: { nearby: ['src/main.ts', 'src/other.ts'] },
    });
    await expect(reading('none/at/all')).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: expect.stringMatching(/README, src/),
    });
    await expect(reading('src')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND', details: { kind: 'folder' } });
    await expect(reading('README/x')).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      message: expect.stringMatching(/README is a file/),
    });
    await expect(session.files.list({ path: 'srv' })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    await expect(session.files.delete('src/none')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    const folder = mkdtempSync(join(tmpdir(), 'perdure-links-'));
    writeFileSync(join(folder, 'secret'), 'outside');
    mkdirSync(join(folder, 'in'));
    symlinkSync('../secret', join(folder, 'in', 'out'));
    const linked = await runtime.sessions.open({ files: { from: join(folder, 'in') } });
    await expect(linked.files.read('out')).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
      details: { kind: 'link', target: '../secret' },
    });
    await expect(linked.files.read('out/x')).rejects.toMatchObject({
      message: expect.stringMatching(/out is a link to/),
    });
    await expect(linked.files.write('out', 'x')).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(/is a link/),
    });
    await expect(linked.files.write('out/x', 'x')).rejects.toMatchObject({ code: 'CONFLICT' });
    await linked.files.delete('out');
    expect(readFileSync(join(folder, 'secret'), 'utf8')).toBe('outside');
    rmSync(folder, { recursive: true });
  });

  test('[FILE31, FILE59] a write is a snapshot and a commit by its member, and a write without changes appends nothing', async () => {
    const session = await begin();
    const { seq, hash } = await session.files.write('a', 'same', { why: 'first' });
    expect(await session.files.write('a', 'same')).toEqual({ path: 'a', size: 4, hash });
    expect(await seqOf(session)).toBe(seq! + 1);
    await session.files.write('a', 'other');
    await session.files.write('a', 'another');
    expect((await session.commits({ path: '/filesModified/a' })).commits.map(({ actor, why }) => [actor, why])).toEqual(
      [
        ['member:local', undefined],
        ['member:local', undefined],
        ['member:local', 'first'],
      ],
    );
    const repeated = await Promise.all([1, 2].map(() => session.files.write('b', 'x', { idempotencyKey: 'k' })));
    expect(repeated[0]).toEqual(repeated[1]);
    await session.files.write('b', 'y');
    expect(await session.files.write('b', 'x', { idempotencyKey: 'k' })).toEqual(repeated[0]);
    expect(await texts(session)).toEqual({ a: 'another', b: 'y' });
    await expect(session.files.write('b', 'z', { idempotencyKey: 'k' })).rejects.toMatchObject({ code: 'KEY_REUSED' });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[FILE49] a writer that names the content it saw replaces no other content', async () => {
    const session = await begin({ a: '1' });
    const there = await other.sessions.get(session.id);
    const { hash: seen } = await session.files.write('a', '1');
    const outcomes = await Promise.allSettled([
      session.files.write('a', 'mine', { expect: seen }),
      there.files.write('a', 'theirs', { expect: seen }),
    ]);
    const won = outcomes.map(({ status }) => status === 'fulfilled');
    expect(won.toSorted()).toEqual([false, true]);
    expect(outcomes[won.indexOf(false)]).toMatchObject({ reason: { code: 'CONFLICT', details: { expected: seen } } });
    expect(await texts(session)).toEqual({ a: won[0] ? 'mine' : 'theirs' });
    const conflict = { code: 'CONFLICT' };
    await expect(session.files.write('a', 'x', { expect: null })).rejects.toMatchObject(conflict);
    await expect(session.files.delete('a', { expect: seen })).rejects.toMatchObject(conflict);
    await expect(session.files.write('b', 'x', { expect: seen })).rejects.toMatchObject(conflict);
    await session.files.write('b', 'x', { expect: null });
    await expect(session.files.write('b/c', 'x')).rejects.toMatchObject(conflict);
    await session.files.write('d/e', 'x');
    await expect(session.files.write('d', 'x')).rejects.toMatchObject(conflict);
  });

  test('[FILE49] concurrent writes all land', async () => {
    const session = await begin();
    const there = await other.sessions.get(session.id);
    const names = Array.from({ length: 6 }, (_, n) => `folder/${n}`);
    await Promise.all(
      names.flatMap((name) => [session.files.write(name, name), there.files.write(`${name}.too`, name)]),
    );
    expect(Object.keys(await texts(there)).length).toBe(12);
    await session.files.write('x', '1');
    await there.files.write('x', '2');
    await session.files.write('x', '1');
    expect((await texts(there)).x).toBe('1');
  });

  test('[FILE50] every call rejects hostile and ignored paths and invalid or oversized content, and nothing is written', async () => {
    const session = await begin({ a: '1' });
    const seq = await seqOf(session);
    const target = join(mkdtempSync(join(tmpdir(), 'perdure-hostile-')), 'to');
    for (const path of hostilePaths) {
      const calls = [
        () => session.files.write(path, 'x'),
        () => session.files.delete(path),
        () => session.files.read(path),
        () => session.files.list({ path }),
        () => session.files.history(path),
        () => session.files.restore({ seq: 1 }, { paths: [path] }),
        () => session.files.copyTo(target, { path }),
        () => session.artifacts.keep('name', { path }),
      ];
      for (const call of calls)
        await expect(call(), `${path} ${call}`).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    for (const path of ['', '.', './', 5, undefined]) {
      await expect(session.files.write(path as string, 'x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    await expect(session.files.write('node_modules/x/y.js', 'x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    for (const content of ['\ud800', 5, undefined, {}]) {
      await expect(session.files.write('b', content as string)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    const tooLarge = Buffer.alloc(32 * 1024 * 1024 + 1);
    await expect(session.files.write('b', tooLarge)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    await expect(session.artifacts.keep('b', tooLarge)).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await seqOf(session)).toBe(seq);
    expect(readdirSync(join(target, '..'))).toEqual([]);
  });

  test('[FILE32] a restore yields exactly the files of a place, or only some of them, and a dry run reports the same', async () => {
    const session = await begin({ 'src/a': '1', 'src/b': '1', keep: '1' });
    const then = await session.files.list();
    const { seq } = await session.summary();
    await session.files.write('src/a', '2', { mode: 0o600 });
    await session.files.delete('src/b');
    await session.files.write('new/c', '2');
    const before = await seqOf(session);
    const planned = await session.files.restore({ seq }, { dryRun: true });
    expect(planned.changes.map(({ change, path }) => `${change} ${path}`)).toEqual([
      'deleted new',
      'deleted new/c',
      'modified src/a',
      'created src/b',
    ]);
    expect(await seqOf(session)).toBe(before);
    await session.files.restore({ seq }, { paths: ['src/b', 'new'], why: 'missed' });
    expect(await texts(session)).toEqual({ 'src/a': '2', 'src/b': '1', keep: '1' });
    await expect(session.files.restore({ seq }, { paths: ['none'] })).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    const restored = await session.files.restore({ seq });
    expect(restored).toMatchObject({ of: { session: session.id, seq }, seq: expect.any(Number) });
    expect(await session.files.list()).toEqual(then);
    expect((await session.files.restore({ seq })).seq).toBeUndefined();
    const branch = await session.fork({ at: { seq: 1 } });
    await branch.files.restore({ session: session.id });
    expect(await branch.files.list()).toEqual(then);
    await branch.files.restore({ seq: 1 });
    expect(await branch.files.list()).toEqual([]);
  });

  test("[FILE51] a fork and its parent do not see each other's later writes, and a rewind restores files", async () => {
    const session = await begin({ a: '1' });
    await session.append([
      { role: 'user', content: 'on' },
      { role: 'assistant', content: 'done' },
    ]);
    const fork = await session.fork();
    await fork.files.write('a', 'fork');
    await session.files.write('b', 'parent');
    expect([await texts(fork), await texts(session)]).toEqual([{ a: 'fork' }, { a: '1', b: 'parent' }]);
    await session.rewind({ to: { turn: 0 } });
    expect(await texts(session)).toEqual({ a: '1' });
    expect(await texts(fork)).toEqual({ a: 'fork' });
  });

  test('[FILE33] a diff between two places of one or two sessions leads from one to the other', async () => {
    const session = await begin({ a: 'one\ntwo\n', old: 'the same words\n', same: 'x' });
    const { seq } = await session.summary();
    const fork = await session.fork();
    await fork.files.write('a', 'one\n2\n');
    await fork.files.delete('old');
    await fork.files.write('new/name', 'the same words\n');
    const diff = await session.files.diff({ seq }, { session: fork.id });
    expect(diff).toMatchObject({ from: { session: session.id, seq }, to: { session: fork.id } });
    expect(diff.files.map(({ change }) => `${change.change} ${change.path}`)).toEqual([
      'modified a',
      'created new',
      'renamed new/name',
    ]);
    expect(diff.unified).toContain('-two\n+2\n');
    expect(diff.unified).toContain('rename from old\nrename to new/name\n');
    expect(await session.files.changes({ seq }, { session: fork.id })).toEqual(diff.files.map(({ change }) => change));
    expect(await session.files.changes({ seq }, { seq })).toEqual([]);
  });

  test('[FILE34] the history of a file lists every change with author and reason, across renames', async () => {
    const session = await begin();
    await session.append({ role: 'user', content: 'write' });
    await session.files.write('old', 'content', { why: 'begun' });
    await session.files.write('old.too', 'beside it');
    await session.files.write('old', 'content, more');
    await session.files.write('old', 'content, still more');
    const { seq } = await session.summary();
    const branch = await session.fork();
    await branch.files.delete('old');
    await branch.files.write('src/new', 'content, still more');
    await session.files.restore({ session: branch.id }, { why: 'moved' });
    await session.files.write('src/new', 'changed', { why: 'at last' });
    const fileHistory = (await session.files.history('src/new')).map(({ change, path, from, turn, actor, why }) => ({
      change,
      path,
      from,
      turn,
      actor,
      why,
    }));
    const common = { turn: 1, actor: 'member:local', from: undefined, why: undefined };
    expect(fileHistory).toEqual([
      { ...common, change: 'modified', path: 'src/new', why: 'at last' },
      { ...common, change: 'renamed', path: 'src/new', from: 'old', why: 'moved' },
      { ...common, change: 'modified', path: 'old' },
      { ...common, change: 'modified', path: 'old' },
      { ...common, change: 'created', path: 'old', why: 'begun' },
    ]);
    expect(await session.files.history('src/new', { limit: 2 })).toHaveLength(2);
    expect(await session.files.history('none')).toEqual([]);
    await session.rewind({ to: { seq } });
    expect(await session.files.history('src/new')).toEqual([]);
    expect(await session.files.history('src/new', { includeRewound: true })).toHaveLength(5);
    await session.commit((draft) => {
      draft.filesModified.tracked = { change: 'modified', tool: 'edit', callId: 'c1' };
    });
    expect(await session.files.history('tracked')).toMatchObject([{ change: 'modified' }]);
  });

  test('[FILE34] changes recorded by folder appear in the history of a file that they changed', {
    timeout: 120_000,
  }, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'perdure-many-'));
    mkdirSync(join(folder, 'src', 'deep'), { recursive: true });
    const many = async (text: string, names: readonly number[]): Promise<Session> => {
      for (const name of names) writeFileSync(join(folder, 'src', 'deep', `${name}`), `${text} ${name}`);
      return runtime.sessions.open({ files: { from: folder } });
    };
    const numbers = Array.from({ length: 1001 }, (_, n) => n);
    const session = await begin({ 'src/deep/7': 'mine', 'src/deep/stays': 'x' });
    await session.files.restore({ session: (await many('first', numbers)).id }, { why: 'first' });
    await session.files.write('src/deep/7', 'between');
    const later = await many('second', [7, 2000]);
    await session.files.restore({ session: later.id, seq: 1 }, { why: 'none' });
    await session.files.restore({ session: later.id }, { why: 'second' });
    expect((await session.state()).filesModified['src/deep/']).toMatchObject({ change: 'created', files: 1002 });
    const changes = async (path: string) =>
      (await session.files.history(path)).map(({ change, why }) => `${change}${why ? ` ${why}` : ''}`);
    const made = ['created second', 'deleted none'];
    expect(await changes('src/deep/7')).toEqual([...made, 'modified', 'modified first', 'created']);
    expect(await changes('src/deep/8')).toEqual([...made, 'created first']);
    expect(await changes('src/deep/2000')).toEqual(['created second']);
    expect(await changes('src/deep/stays')).toEqual(['deleted first', 'created']);
    expect(await changes('src/deep')).toEqual([]);
    rmSync(folder, { recursive: true });
  });

  test('[FILE35] files are copied into a new or empty folder, each at its path, and into no other', async () => {
    const session = await begin({ 'src/a': '1', 'src/deep/b': '2', c: '3' });
    const folder = mkdtempSync(join(tmpdir(), 'perdure-copies-'));
    const all = join(folder, 'all');
    expect(await session.files.copyTo(all)).toEqual({ folder: all, files: 3 });
    expect(readFileSync(join(all, 'src/deep/b'), 'utf8')).toBe('2');
    await expect(session.files.copyTo(all)).rejects.toMatchObject({
      code: 'FILE_UNAVAILABLE',
      message: expect.stringMatching(/not empty/),
    });
    await expect(session.files.copyTo(join(all, 'c'))).rejects.toMatchObject({ code: 'FILE_UNAVAILABLE' });
    await expect(session.files.copyTo(join(folder, 'x'), { path: 'none' })).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
    });
    await session.files.copyTo(join(folder, 'one'), { path: 'src/deep/b' });
    expect(readdirSync(join(folder, 'one'), { recursive: true }).sort()).toEqual(['src', 'src/deep', 'src/deep/b']);
    await session.files.copyTo(join(folder, 'before'), { at: { seq: 1 } });
    expect(readdirSync(folder).sort()).toEqual(['all', 'before', 'one']);
    rmSync(folder, { recursive: true });
  });

  test('[FILE35] a file that appears in the folder before the copy writes it is not replaced', async () => {
    const session = await begin({ a: '1' });
    const folder = mkdtempSync(join(tmpdir(), 'perdure-copies-'));
    const { restore } = Worktrees.prototype;
    const late = vi.spyOn(Worktrees.prototype, 'restore').mockImplementationOnce(function (this: Worktrees, ...given) {
      writeFileSync(join(folder, 'mine'), 'by hand');
      return restore.apply(this, given);
    });
    await expect(session.files.copyTo(folder)).rejects.toMatchObject({ code: 'FILE_UNAVAILABLE' });
    late.mockRestore();
    expect(readFileSync(join(folder, 'mine'), 'utf8')).toBe('by hand');
    rmSync(folder, { recursive: true });
  });

  test("[FILE36, FILE60] an adoption takes over a branch's file changes with its state, in one append", async () => {
    const session = await begin({ a: '1', b: '1', 'd/c': '1', both: '1', gone: '1' });
    const branch = await session.fork();
    await branch.files.write('b', 'theirs');
    await branch.files.write('d/new', 'theirs', { mode: 0o755 });
    await branch.files.write('both', 'theirs');
    await branch.files.delete('gone');
    await branch.files.write('alike', 'same');
    await branch.commit((draft) => Object.assign(draft.facts, { port: 1 }));
    await session.files.write('a', 'ours');
    await session.files.write('both', 'ours');
    await session.files.write('alike', 'same');
    const before = await seqOf(session);
    await expect(session.adopt(branch, { onConflict: 'fail' })).rejects.toMatchObject({
      code: 'ADOPT_CONFLICT',
      details: { conflicts: [], files: ['both'] },
    });
    const adopted = await session.adopt(branch);
    expect(adopted).toMatchObject({ conflicts: [], files: { conflicts: ['both'] } });
    expect(adopted.files.changes.map(({ change, path }) => `${change} ${path}`)).toEqual([
      'modified b',
      'created d/new',
      'deleted gone',
    ]);
    expect(await seqOf(session)).toBe(before + 2);
    const merged = { a: 'ours', b: 'theirs', 'd/c': '1', 'd/new': 'theirs', both: 'ours', alike: 'same' };
    expect(await texts(session)).toEqual(merged);
    expect((await session.state()).facts).toEqual({ port: 1 });
    expect((await session.state()).filesModified).toMatchObject({
      b: { change: 'modified' },
      gone: { change: 'deleted' },
    });
    expect(await session.files.history('d/new')).toMatchObject([{ change: 'created', seq: before + 2 }]);
    expect((await session.adopt(branch)).commit).toBeUndefined();
    await branch.files.write('d/new', 'theirs again');
    await session.files.write('b', 'ours again');
    expect(await session.adopt(branch, { onConflict: 'theirs' })).toMatchObject({ files: { conflicts: ['both'] } });
    expect(await texts(session)).toEqual({ ...merged, b: 'ours again', 'd/new': 'theirs again', both: 'theirs' });
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[FILE52, REV1] reverting an adoption reverts its files too; the revert can be reverted, and the branch adopted again', async () => {
    const session = await begin({ a: '1', b: '1', gone: '1' });
    const branch = await session.fork();
    await branch.files.write('b', 'theirs');
    await branch.files.write('d/new', 'theirs');
    await branch.files.delete('gone');
    const { commit } = await session.adopt(branch);
    await session.files.write('a', 'later');
    const taken = (await session.revert(commit!.seq))!;
    expect(taken.files.map(({ change, path }) => `${change} ${path}`)).toEqual([
      'modified b',
      'deleted d/new',
      'created gone',
    ]);
    const without = { a: 'later', b: '1', gone: '1' };
    expect(await texts(session)).toEqual(without);
    expect(Object.keys((await session.state()).filesModified).sort()).toEqual(['a', 'b', 'gone']);
    const history = await session.files.history('d/new');
    expect(history.map(({ change, seq }) => [change, seq])).toEqual([
      ['deleted', taken.seq],
      ['created', commit!.seq],
    ]);
    const again = (await session.revert(taken.seq))!;
    const all = { a: 'later', b: 'theirs', 'd/new': 'theirs' };
    expect(await texts(session)).toEqual(all);
    await session.revert(again.seq);
    expect(await texts(session)).toEqual(without);
    await session.adopt(branch);
    expect(await texts(session)).toEqual(all);
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[FILE52, REV1] an adoption cannot be reverted after one of its files changed; reverting other commits leaves files alone', async () => {
    const session = await begin({ a: '1' });
    const branch = await session.fork();
    await branch.files.write('a', 'theirs');
    const { commit } = await session.adopt(branch);
    await session.files.write('a', 'later');
    const before = await seqOf(session);
    await expect(session.revert(commit!.seq)).rejects.toMatchObject({ code: 'REVERT_CONFLICT' });
    expect(await seqOf(session)).toBe(before);
    const fileHistory = await session.files.history('a');
    expect(await session.revert(before)).toMatchObject({ files: [] });
    expect(await texts(session)).toEqual({ a: 'later' });
    expect(await session.files.history('a')).toEqual(fileHistory);
    await expect(session.revert(commit!.seq)).rejects.toMatchObject({
      code: 'REVERT_CONFLICT',
      message: expect.stringContaining('a changed again'),
      details: { paths: ['a'] },
    });
  });

  test('[FILE37, FILE61] artifacts are kept by name with type and size, across rewinds, in forks and when carried over', async () => {
    const session = await begin({ 'out/report.md': '# Report' });
    await session.append({ role: 'user', content: 'report' });
    const kept = await session.artifacts.keep('report.md', { path: 'out/report.md' });
    expect(kept).toMatchObject({ name: 'report.md', mediaType: 'text/markdown', size: 8, path: 'out/report.md' });
    expect(await session.artifacts.keep('report.md', { path: 'out/report.md' })).toEqual(kept);
    await session.artifacts.keep('data', Buffer.from([0, 1]), { mediaType: 'application/x-data' });
    await session.artifacts.keep('constructor', 'text');
    await session.artifacts.keep('data', Buffer.from([255]));
    await session.rewind({ to: { turn: 0 } });
    const listed = [
      { name: 'constructor', mediaType: 'text/plain', size: 4 },
      { name: 'data', mediaType: 'application/octet-stream', size: 1 },
      { name: 'report.md', mediaType: 'text/markdown', size: 8 },
    ];
    const there = await other.sessions.get(session.id);
    expect(await there.artifacts.list()).toMatchObject(listed);
    const [fork, next] = [await session.fork(), await runtime.sessions.open({ carryFrom: session })];
    await session.artifacts.keep('data', 'later');
    for (const heir of [fork, next]) {
      expect(await heir.artifacts.list()).toMatchObject(listed);
      expect([...(await heir.artifacts.read('data'))]).toEqual([255]);
    }
    expect(await next.files.list()).toEqual([]);
    await expect(session.artifacts.read('toString')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    for (const name of ['../x', '', '.hidden', 'a/b', 'a\u202eb', 'x'.repeat(201)]) {
      await expect(session.artifacts.keep(name, 'x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    }
    const once = await Promise.all([1, 2].map(() => session.artifacts.keep('k', 'v', { idempotencyKey: 'k' })));
    expect(once[0]).toEqual(once[1]);
  });
});

test('[FILE30] a session without files has the empty tree, which needs no blob in the store', async () => {
  const runtime = await openRuntime({ store: openMemoryStore() });
  const session = await runtime.sessions.open();
  await session.files.write('a', '1');
  await session.files.delete('a');
  const [snapshot] = (await Array.fromAsync(session.events()))
    .filter(({ type }) => type === 'files.snapshotted')
    .slice(-1);
  expect(snapshot?.payload).toMatchObject({ tree: emptyTree.hash });
  expect(await session.files.list()).toEqual([]);
  await runtime.close();
});
