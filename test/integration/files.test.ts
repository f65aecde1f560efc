import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { isSettled } from '../../src/core/files/disk/read-file.ts';
import { type RestoreOptions, restoreSnapshot } from '../../src/core/files/disk/restore.ts';
import type { Scanned, ScannedFolder } from '../../src/core/files/disk/scan.ts';
import { takeSnapshot, type WorktreeOptions } from '../../src/core/files/disk/snapshot.ts';
import { readStatCache, type StatCache, writeStatCache } from '../../src/core/files/disk/stat-cache.ts';
import { findEntry, listTree, treeReader } from '../../src/core/files/read-tree.ts';
import { MemoryBlobs } from '../support/files/memory-blobs.ts';
import { listFolder, newWorktree, removeWorktrees } from '../support/files/worktree-folder.ts';

afterEach(removeWorktrees);

/** A worktree with its scan cache. */
const start = (files: Readonly<Record<string, string>> = {}, blobs = new MemoryBlobs()) => {
  const worktree = newWorktree();
  for (const [name, content] of Object.entries(files)) worktree.write(name, content);
  let cache: StatCache | undefined;
  return {
    ...worktree,
    blobs,
    lose: () => {
      cache = undefined;
    },
    cache: () => cache,
    /** Waits until any further change would be visible in file times. */
    settled: () =>
      expect
        .poll(
          () =>
            ['', ...readdirSync(worktree.path, { recursive: true, encoding: 'utf8' })].every((name) =>
              isSettled(lstatSync(worktree.at(name)), Date.now()),
            ),
          { interval: 10, timeout: 5000 },
        )
        .toBe(true),
    snapshot: async (options: Partial<WorktreeOptions> = {}) => {
      const taken = await takeSnapshot({ folder: worktree.path, ...options }, cache, blobs);
      ({ cache } = taken);
      return taken.snapshot;
    },
    restore: async (root: string, options: Partial<RestoreOptions> = {}) => {
      const done = await restoreSnapshot({ folder: worktree.path, root, ...options }, cache, blobs);
      ({ cache } = done);
      return done.restored;
    },
  };
};

const pathsIn = async (blobs: MemoryBlobs, root: string) =>
  (await Array.fromAsync(listTree(treeReader(blobs), root))).map(([path]) => path);

const kinds = (restored: { changes: readonly { change: string; path: string }[] }) =>
  restored.changes.map(({ change, path }) => `${change} ${path}`);

test('[FILE2] a restore recreates bytes, modes, links and empty folders', async () => {
  const { write, at, link, list, snapshot, restore, remove } = start();
  write('a.txt', 'one');
  write('bin/run', '#!/bin/sh\n', 0o750);
  write('bin/bytes', Buffer.from([0, 255, 254, 10, 13]));
  write('empty', '');
  link('bin/link', '../a.txt');
  link('away', '/etc/passwd');
  link('nowhere', 'not/there');
  mkdirSync(at('none/at/all'), { recursive: true });
  chmodSync(at('none'), 0o700);
  write('none/é "quoted"\n', 'odd');
  write('closed/in', 'x');
  chmodSync(at('closed'), 0o555);
  const before = list();
  const { root } = await snapshot();
  for (const name of ['a.txt', 'bin', 'none', 'away']) remove(name);
  chmodSync(at('closed'), 0o755);
  write('closed/in', 'y');
  write('bin', 'a file now');
  mkdirSync(at('away'));
  write('away/deep/er', 'x');
  write('new', 'x');
  await restore(root);
  expect(list()).toEqual(before);
  expect((await snapshot()).root).toBe(root);
});

test('[FILE2] restoring into another worktree yields the same files', async () => {
  const one = start({ 'a/b/c': 'one', 'a/d': 'two' });
  const { root } = await one.snapshot();
  const other = start({ 'a/d': 'other', z: 'z' }, one.blobs);
  await other.restore(root);
  expect(other.list()).toEqual(one.list());
});

test('[FILE2] a read-only folder keeps its mode through a restore', async () => {
  const { at, write, snapshot, restore, list } = start({ 'fixed/a': 'one', 'fixed/b': 'two' });
  chmodSync(at('fixed'), 0o555);
  const { root } = await snapshot();
  chmodSync(at('fixed'), 0o755);
  write('fixed/a', 'other');
  write('fixed/c', 'more');
  chmodSync(at('fixed'), 0o555);
  await restore(root);
  expect(list()).toEqual({ fixed: 'folder 555', 'fixed/a': 'file 644 one', 'fixed/b': 'file 644 two' });
});

test("[FILE2] a folder that the snapshot's rules ignore is replaced by the snapshot's file of the same name", async () => {
  const { write, remove, snapshot, restore, list } = start({ '.perdureignore': 'out/\n', out: 'a file' });
  const { root } = await snapshot();
  const before = list();
  remove('.perdureignore');
  remove('out');
  write('out/x', 'in a folder');
  await restore(root);
  expect(list()).toEqual(before);
});

test('[FILE3] a file that was just written is read again until its file times can reveal further changes', async () => {
  const { write, path, blobs, snapshot, cache, settled } = start({ a: 'one' });
  const { root } = await snapshot();
  const read = cache()!.root.entries.get('a') as { readonly isRacy?: true };
  expect(read.isRacy).toBe(true);
  // Simulates a file that changed without any visible change of its metadata.
  const entries = new Map([['a', { ...read, hash: '0'.repeat(64) } as Scanned]]);
  const other = { ...cache()!, root: { ...cache()!.root, entries } };
  const again = await takeSnapshot({ folder: path, base: root }, other, blobs);
  expect(again.snapshot.root).toBe(root);
  write('b', 'two');
  await settled();
  await snapshot();
  expect(cache()!.root.entries.get('a')).not.toHaveProperty('isRacy');
});

test('[FILE3] a change that keeps size and modification time is detected', async () => {
  const { write, at, snapshot, settled } = start({ a: 'old', b: 'xxx' });
  const past = new Date('2020-01-01');
  utimesSync(at('a'), past, past);
  await settled();
  const first = await snapshot();
  write('a', 'new');
  utimesSync(at('a'), past, past);
  expect((await snapshot()).root).not.toBe(first.root);
});

test('[FILE41] unchanged files are not read again, even after a restart', async () => {
  const { at, path, snapshot, cache, blobs, settled } = start({ a: 'one', 'b/c': 'two' });
  await settled();
  const { root } = await snapshot();
  const file = join(path, '..', 'cache');
  writeStatCache(file, cache()!);
  expect(readStatCache(file)).toEqual(cache());
  const kept = readStatCache(file)!;
  const again = await takeSnapshot({ folder: path, base: root }, kept, blobs);
  expect(again.cache.root).toBe(kept.root);
  truncateSync(file, 100);
  expect(readStatCache(file)).toBeUndefined();
  truncateSync(at('a'), 1);
  const changed = await takeSnapshot({ folder: path, base: root }, kept, blobs);
  expect(changed.cache.root.entries.get('b')).toBe(kept.root.entries.get('b'));
});

test('[FILE41] the scan cache of another worktree does not change what a snapshot records', async () => {
  const one = start({ a: 'one', 'b/c': 'two' });
  const other = start({ a: 'ONE', 'b/c': 'TWO' }, one.blobs);
  const past = new Date('2020-01-01');
  for (const { at } of [one, other]) for (const name of ['a', 'b/c', 'b', '']) utimesSync(at(name), past, past);
  await Promise.all([one.settled(), other.settled()]);
  const { root } = await one.snapshot();
  await other.snapshot();
  const taken = await takeSnapshot({ folder: one.path }, other.cache(), one.blobs);
  expect(taken.snapshot.root).toBe(root);
});

test('[FILE3, FILE41] a folder is listed again once an entry was added or removed, whatever its modification time says', async () => {
  const { at, write, remove, snapshot, cache, blobs, settled } = start({ 'a/b/one': '1', 'a/b/two': '2' });
  const past = new Date('2020-01-01');
  const putBack = () => utimesSync(at('a/b'), past, past);
  const stamp = () => ((cache()!.root.entries.get('a') as ScannedFolder).entries.get('b') as ScannedFolder).stamp;
  putBack();
  await snapshot();
  expect(stamp()).toBeUndefined();
  await settled();
  const { root } = await snapshot();
  expect(stamp()).toBeDefined();
  remove('a/b/one');
  putBack();
  const without = await snapshot({ base: root });
  expect(await pathsIn(blobs, without.root)).toEqual(['a', 'a/b', 'a/b/two']);
  await settled();
  await snapshot();
  write('a/b/one', '1');
  putBack();
  expect((await snapshot()).root).toBe(root);
});

test('[FILE3] a folder with left-out entries is always listed', async () => {
  const { at, snapshot, cache, settled } = start({ 'a/.perdureignore': 'out\n', 'a/out': '1', 'a/in': '1' });
  await settled();
  const stamps = async () => {
    const { leftOut } = await snapshot();
    return [leftOut.ignored.count, (cache()!.root.entries.get('a') as ScannedFolder).stamp !== undefined];
  };
  expect(await stamps()).toEqual([1, false]);
  expect(await stamps()).toEqual([1, false]);
  rmSync(at('a/out'));
  await settled();
  expect(await stamps()).toEqual([0, true]);
});

test('[FILE3, FILE8] a file that a restore kept because rules ignore it is in the next snapshot once the rules no longer ignore it', async () => {
  const { write, remove, snapshot, restore, blobs, settled } = start({ '.perdureignore': '*.log\n', 'a/kept': '1' });
  const { root } = await snapshot();
  remove('.perdureignore');
  write('a/run.log', 'later');
  await settled();
  await snapshot();
  await restore(root);
  expect((await snapshot()).leftOut.ignored.paths).toEqual(['a/run.log']);
  remove('.perdureignore');
  expect(await pathsIn(blobs, (await snapshot()).root)).toEqual(['a', 'a/kept', 'a/run.log']);
});

test('[FILE4] everything that a snapshot names is in the store, even if a cache wrongly says that it is already stored', async () => {
  const { path, snapshot, cache, restore, blobs, write, settled } = start({ a: 'one', 'b/c': 'two', 'b/d/e': 'three' });
  await settled();
  const { root } = await snapshot();
  const known = cache()!;
  for (const missing of blobs.kept.keys()) {
    const less = new MemoryBlobs();
    for (const [hash, bytes] of blobs.kept) if (hash !== missing) less.kept.set(hash, bytes);
    const taken = await takeSnapshot({ folder: path }, known, less);
    expect(taken.snapshot.root).toBe(root);
    expect([...less.kept.keys()].sort()).toEqual([...blobs.kept.keys()].sort());
  }
  const puts = blobs.puts;
  await snapshot({ base: root });
  expect(blobs.puts).toBe(puts);
  write('a', 'other');
  await restore(root, { base: root });
  await snapshot({ base: root });
  expect(blobs.puts).toBe(puts + 2);
});

test('[FILE4] a snapshot fails when the store fails', async () => {
  const { path } = start({ a: 'one' });
  const blobs = new MemoryBlobs();
  blobs.putBlobs = () => Promise.reject(new Error('full'));
  await expect(takeSnapshot({ folder: path }, undefined, blobs)).rejects.toThrow('full');
});

test('[FILE5] dependencies and caches are left out, and .perdureignore can change that', async () => {
  const { snapshot, write, blobs } = start({
    'node_modules/a/index.js': '1',
    'src/node_modules/b.js': '1',
    'src/a.log': '1',
    'src/keep.log': '1',
    '.git/HEAD': 'ref',
    'build/out.o': '1',
    'py/__pycache__/x.pyc': '1',
    node_module: '1',
  });
  const first = await snapshot();
  expect(first.leftOut.ignored).toEqual({ count: 3, paths: ['node_modules', 'py/__pycache__', 'src/node_modules'] });
  expect(await pathsIn(blobs, first.root)).toContain('.git/HEAD');
  write('.perdureignore', '*.log\n!keep.log\n!/node_modules/\n');
  write('src/.perdureignore', '!a.log\nkeep.log\n');
  const second = await snapshot();
  expect(second.leftOut.ignored.paths).toEqual(['py/__pycache__', 'src/keep.log', 'src/node_modules']);
  expect(await pathsIn(blobs, second.root)).toEqual(
    expect.arrayContaining(['node_modules/a/index.js', 'src/a.log', '.perdureignore']),
  );
});

test('[FILE6] left-out files are counted with their reason', async () => {
  const { at, path, write, link, snapshot, blobs } = start({ 'node_modules/x': '1', a: 'a', '.perdure/own': '1' });
  write('big', 'x'.repeat(101));
  write('just', 'x'.repeat(100));
  write('config', 'token=sk-secret-1234');
  link('to-secret', 'sk-secret');
  execFileSync('mkfifo', [at('pipe')]);
  const server = createServer().listen(at('socket'));
  await new Promise((resolve) => server.once('listening', resolve));
  writeFileSync(Buffer.concat([Buffer.from(`${path}/bad-`), Buffer.from([0xff])]), 'x');
  symlinkSync(Buffer.from([0xff, 0xfe]), at('bad-link'));
  const options = { maxFileBytes: 100, secrets: ['sk-secret-1234', ''] };
  const { root, leftOut } = await snapshot(options);
  expect(leftOut).toEqual({
    ignored: { count: 2, paths: ['.perdure', 'node_modules'] },
    'too-big': { count: 1, paths: ['big'] },
    unreadable: { count: 2, paths: ['bad-link', 'bad-\ufffd'] },
    special: { count: 2, paths: ['pipe', 'socket'] },
    secret: { count: 1, paths: ['config'] },
  });
  expect(await pathsIn(blobs, root)).toEqual(['a', 'just', 'to-secret']);
  server.close();
});

test('[FILE6] files that contain a newly known secret are left out, even if earlier snapshots held them', async () => {
  const { snapshot, settled } = start({ config: 'token=sk-secret-1234' });
  await settled();
  expect((await snapshot()).leftOut.secret.count).toBe(0);
  expect((await snapshot({ secrets: ['sk-secret'] })).leftOut.secret.count).toBe(1);
});

test('[FILE7] existing content is in the store before it is overwritten', async () => {
  const { write, snapshot, restore, list, blobs } = start({ a: 'one', b: 'two' });
  const { root } = await snapshot();
  write('a', 'changed by hand');
  write('c', 'new by hand');
  const byHand = list();
  const { before } = await restore(root, { base: root });
  await restore(before);
  expect(list()).toEqual(byHand);
  expect(await pathsIn(blobs, before)).toEqual(['a', 'b', 'c']);
});

test('[FILE42] a dry run reports the changes and changes nothing', async () => {
  const { write, snapshot, restore, list, blobs, remove, at } = start({ a: 'one', b: 'two', c: 'three', d: '4' });
  const { root } = await snapshot();
  const kept = blobs.kept.size;
  write('a', 'other');
  renameSync(at('b'), at('moved'));
  remove('c');
  chmodSync(at('d'), 0o700);
  const now = list();
  const dry = await restore(root, { dryRun: true });
  expect(kinds(dry)).toEqual(['modified a', 'renamed b', 'created c', 'mode-changed d']);
  expect(list()).toEqual(now);
  expect(blobs.kept.size).toBe(kept);
  expect(kinds(await restore(root))).toEqual(kinds(dry));
});

test('[FILE7] a missing or damaged blob leaves the worktree untouched', async () => {
  const { write, snapshot, restore, list, blobs } = start({ a: 'one', b: 'two' });
  const { root } = await snapshot();
  write('a', 'other');
  write('b', 'other');
  const now = list();
  const entry = (await findEntry(treeReader(blobs), root, ['b'])) as { hash: string };
  const bytes = blobs.kept.get(entry.hash)!;
  blobs.kept.set(entry.hash, Buffer.from('twO'));
  await expect(restore(root)).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  blobs.kept.delete(entry.hash);
  await expect(restore(root)).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
  expect(list()).toEqual(now);
  blobs.kept.set(entry.hash, bytes);
  await restore(root);
});

test('[FILE42] a file written during a restore is not lost', async () => {
  const { write, snapshot, restore, list, blobs } = start({ a: 'one', b: 'two' });
  const { root } = await snapshot();
  write('a', 'other');
  write('b', 'other');
  const { readBlob } = blobs;
  blobs.readBlob = (hash) => {
    write('b', 'written meanwhile');
    return readBlob.call(blobs, hash);
  };
  await expect(restore(root)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(list()).toMatchObject({ b: expect.stringContaining('written meanwhile') });
  expect(list()).not.toHaveProperty('.perdure');
});

test('[FILE7] a link retargeted during a restore is not lost', async () => {
  const { link, remove, write, snapshot, restore, list, blobs } = start({ a: 'one' });
  link('l', 'first');
  const { root } = await snapshot();
  remove('l');
  link('l', 'second');
  write('a', 'other');
  const { readBlob } = blobs;
  blobs.readBlob = (hash) => {
    remove('l');
    link('l', 'meanwhile');
    return readBlob.call(blobs, hash);
  };
  await expect(restore(root)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(list()).toMatchObject({ l: 'link to meanwhile' });
});

test('[FILE7] content prefetched during the scan is used where it still fits, and nothing is fetched twice', async () => {
  const { write, snapshot, restore, list, blobs } = start({ a: 'one', b: 'two', c: 'three' });
  const before = list();
  const { root } = await snapshot();
  write('a', 'other');
  write('b', 'other');
  await snapshot();
  write('a', 'one');
  write('c', 'by hand');
  const read: string[] = [];
  const { readBlob } = blobs;
  blobs.readBlob = (hash) => {
    read.push(hash);
    return readBlob.call(blobs, hash);
  };
  expect(kinds(await restore(root))).toEqual(['modified b', 'modified c']);
  expect(list()).toEqual(before);
  expect(read.toSorted()).toEqual([...new Set(read)].sort());
  write('b', 'more');
  await snapshot();
  const now = list();
  blobs.readBlob = async (hash) => (hash === root ? blobs.kept.get(hash) : undefined);
  await expect(restore(root)).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
  expect(list()).toEqual(now);
});

test('[FILE8] a restore does not change files that no snapshot holds', async () => {
  const { write, snapshot, restore, list } = start({ a: 'one' });
  const { root } = await snapshot();
  write('node_modules/x', 'dependency');
  write('gone/.cache/x', 'cached');
  write('gone/big', 'x'.repeat(200));
  write('gone/small', 'x');
  await restore(root, { maxFileBytes: 100 });
  const left = ['a', 'gone', 'gone/.cache', 'gone/.cache/x', 'gone/big', 'node_modules', 'node_modules/x'];
  expect(Object.keys(list())).toEqual(left);
});

test("[FILE8] an ignored file blocks the restore of the snapshot's file, unless both are the same", async () => {
  const { path, write, snapshot, restore, list } = start({ 'out/a.log': 'one', 'out/b.txt': 'two', 'out/c': 'three' });
  const { root } = await snapshot();
  write('.perdureignore', 'out/\n');
  write('out/a.log', 'later');
  write('out/other', 'stays');
  rmSync(join(path, 'out/c'));
  write('out/c/d', 'later');
  const now = list();
  await expect(restore(root)).rejects.toMatchObject({
    code: 'CONFLICT',
    details: { paths: ['out/c/d', 'out/a.log'] },
  });
  expect(list()).toEqual(now);
  const { movedTo } = await restore(root, { aside: join(path, '..', 'aside') });
  expect(list()).toMatchObject({
    'out/a.log': 'file 644 one',
    'out/c': 'file 644 three',
    'out/other': 'file 644 stays',
  });
  expect(listFolder(movedTo!)).toMatchObject({ 'out/a.log': 'file 644 later', 'out/c/d': 'file 644 later' });
});

test('[FILE7] nothing is moved aside before all new content is on disk', async () => {
  const { path, at, snapshot, restore, list, remove, blobs } = start({ a: 'one' });
  const { root } = await snapshot();
  remove('a');
  execFileSync('mkfifo', [at('a')]);
  const now = list();
  blobs.readBlob = async (hash) => (hash === root ? blobs.kept.get(hash) : undefined);
  const aside = join(path, '..', 'aside');
  await expect(restore(root, { aside })).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
  expect(list()).toEqual(now);
});

test('[FILE43] a file that is in no snapshot blocks the whole restore until it is moved', async () => {
  const { at, write, snapshot, restore, list, remove } = start({ a: 'one', b: 'two', c: 'three' });
  const { root } = await snapshot();
  remove('a');
  remove('b');
  execFileSync('mkfifo', [at('a')]);
  write('b/node_modules/x', 'in the way');
  write('c', 'other');
  const now = list();
  expect((await restore(root, { dryRun: true })).inTheWay.toSorted()).toEqual(['a', 'b/node_modules']);
  await expect(restore(root)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringContaining('in the way'),
  });
  expect(list()).toEqual(now);
  remove('a');
  remove('b');
  await restore(root);
  expect(Object.keys(list())).toEqual(['a', 'b', 'c']);
});

test('[FILE44] a folder that becomes a link during a restore is not followed', async () => {
  const outside = newWorktree();
  outside.write('x', 'theirs');
  const { at, write, remove, link, snapshot, restore, blobs } = start({ 'dir/x': 'one', 'dir/new': 'two' });
  const { root } = await snapshot();
  write('dir/x', 'changed');
  remove('dir/new');
  const { readBlob } = blobs;
  blobs.readBlob = (hash) => {
    remove('dir');
    link('dir', outside.path);
    return readBlob.call(blobs, hash);
  };
  await expect(restore(root)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(outside.list()).toEqual({ x: 'file 644 theirs' });
  blobs.readBlob = readBlob;
  await restore(root);
  expect(outside.list()).toEqual({ x: 'file 644 theirs' });
  expect(readdirSync(at('dir'))).toEqual(['new', 'x']);
});

test('[FILE44] no snapshot and no restore follows a link, whatever its target', async () => {
  const outside = newWorktree();
  outside.write('secret', 'theirs');
  const { at, link, snapshot, restore, remove, write, blobs } = start({ a: 'one' });
  link('out', outside.path);
  link('file', join(outside.path, 'secret'));
  link('round', 'round');
  link('.perdureignore', join(outside.path, 'secret'));
  const { root } = await snapshot();
  expect([...blobs.kept.values()].some((bytes) => Buffer.from(bytes).includes('theirs'))).toBe(false);
  for (const name of ['out', 'file']) remove(name);
  write('out/secret', 'mine');
  write('file', 'mine');
  await restore(root);
  write('own/x', '1');
  const { root: other } = await snapshot();
  remove('own');
  link('own', outside.path);
  await restore(other);
  expect(readdirSync(at('own'))).toEqual(['x']);
  expect(outside.list()).toEqual({ secret: 'file 644 theirs' });
});

test("[FILE11] a restore does not write through a link that replaces the runtime's own folder", async () => {
  const outside = newWorktree();
  const { write, link, snapshot, restore } = start({ a: 'one' });
  const { root } = await snapshot();
  write('a', 'two');
  link('.perdure', outside.path);
  await expect(restore(root)).rejects.toMatchObject({ code: 'CONFLICT' });
  expect(outside.list()).toEqual({});
});

test('[FILE12] a restore removes the leftovers of an earlier one that died at its very end, even with nothing to change', async () => {
  const { write, at, list, snapshot, restore } = start({ a: 'one' });
  const before = list();
  const { root } = await snapshot();
  mkdirSync(at('.perdure/restore'), { recursive: true });
  write('.perdure/restore/0', 'half');
  await restore(root);
  expect(list()).toEqual(before);
});
