import { existsSync } from 'node:fs';
import { setImmediate as turn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { afterEach, expect, test, vi } from 'vitest';
import { Worktrees } from '../../src/core/files/disk/worktrees.ts';
import { PerdureError } from '../../src/schema/error.ts';
import { moduleUrl, runScript } from '../support/cli/run-script.ts';
import { MemoryBlobs } from '../support/files/memory-blobs.ts';
import { newWorktree, removeWorktrees } from '../support/files/worktree-folder.ts';

const worktrees = new Worktrees();
afterEach(async () => {
  await worktrees.stop();
  removeWorktrees();
});

const start = () => {
  const { path, ...folder } = newWorktree();
  return { ...folder, at: { folder: path, cacheFile: `${path}.cache` }, blobs: new MemoryBlobs() };
};

test('[FILE14] snapshots, restores and diffs run in a separate thread, while the store is used from the main thread', async () => {
  const { write, list, at, blobs } = start();
  write('a', 'one\n');
  write('b', 'x'.repeat(100_000));
  const first = await worktrees.snapshot(at, blobs);
  write('a', 'two\n');
  write('c/d', 'new');
  const before = list();
  const second = await worktrees.snapshot({ ...at, base: first.root }, blobs);
  const restored = await worktrees.restore({ ...at, root: first.root, base: second.root }, blobs);
  expect(restored).toEqual({ before: second.root, changed: 2, inTheWay: [] });
  expect(Object.keys(list())).toEqual(['a', 'b']);
  await worktrees.stop();
  expect(existsSync(at.cacheFile)).toBe(true);
  await worktrees.restore({ ...at, root: second.root, base: first.root }, blobs);
  expect(list()).toEqual(before);
  const [diff] = await worktrees.diff({ before: first.root, after: second.root }, blobs);
  expect(diff).toMatchObject({
    change: { change: 'modified', path: 'a' },
    unified: expect.stringContaining('-one\n+two\n'),
  });
});

test('[FILE14] tasks on one worktree run one after the other, and those of other worktrees concurrently', async () => {
  const { write, list, at, blobs } = start();
  write('a', 'one');
  const { root } = await worktrees.snapshot(at, blobs);
  write('a', 'two');
  write('b', 'three');
  const other = start();
  other.write('z', 'theirs');
  const tasks = Array.from({ length: 10 }, () => worktrees.restore({ ...at, root }, blobs));
  const [theirs] = await Promise.all([worktrees.snapshot(other.at, other.blobs), ...tasks]);
  expect(list()).toEqual({ a: 'file 644 one' });
  expect(other.blobs.kept.has(theirs.root)).toBe(true);
  expect(blobs.kept.has(theirs.root)).toBe(false);
});

test('[FILE14] an error keeps its code when it leaves the thread, and a store error also when it enters it', async () => {
  const { write, at, blobs } = start();
  write('a', 'one');
  await expect(worktrees.snapshot({ ...at, folder: `${at.folder}/none` }, blobs)).rejects.toMatchObject({
    code: 'FILE_UNAVAILABLE',
  });
  blobs.putBlobs = () => Promise.reject(new PerdureError('STORE_FULL', 'the disk is full'));
  await expect(worktrees.snapshot(at, blobs)).rejects.toMatchObject({
    code: 'STORE_FULL',
    message: 'the disk is full',
  });
  await expect(worktrees.restore({ ...at, root: '0'.repeat(64) }, new MemoryBlobs())).rejects.toMatchObject({
    code: 'BLOB_NOT_FOUND',
  });
});

test('[FILE45] a failing task waits for its uploads in flight', async () => {
  const { write, at, blobs } = start();
  for (let index = 0; index < 512; index++) write(`${index}`, `${index}`);
  write('z/node_modules/left-out', '');
  const reached = Promise.withResolvers<void>();
  blobs.readBlob = async () => reached.resolve() as undefined;
  blobs.hasBlobs = async () => {
    await reached.promise;
    await turn(); // lets the failure arrive before this answer
    return new Set();
  };
  await expect(worktrees.restore({ ...at, root: 'f'.repeat(64) }, blobs)).rejects.toMatchObject({
    code: 'BLOB_NOT_FOUND',
  });
  expect(blobs.puts).toBe(512);
});

test('[FILE45] a request of a finished task is rejected, and the thread continues', async () => {
  const { write, at, blobs } = start();
  const started = Promise.withResolvers<Worker>();
  process.once('worker', started.resolve);
  write('a', 'one');
  const { root } = await worktrees.snapshot(at, blobs);
  const thread = await started.promise;
  const answers = vi.spyOn(thread, 'postMessage');
  thread.emit('message', { ask: 1000, of: 1, method: 'readBlob', argument: root });
  await vi.waitFor(() =>
    expect(answers).toHaveBeenCalledWith({
      answer: 1000,
      error: expect.objectContaining({ code: 'FILE_UNAVAILABLE' }),
    }),
  );
  expect(await worktrees.snapshot(at, blobs)).toMatchObject({ root });
});

test('[FILE45] a stop waits for running tasks, including comparisons', async () => {
  const { write, at, blobs } = start();
  write('a', 'one');
  const before = await worktrees.snapshot(at, blobs);
  write('a', 'two');
  const after = await worktrees.snapshot({ ...at, base: before.root }, blobs);
  const changes = worktrees.changes({ before: before.root, after: after.root }, blobs);
  await worktrees.stop();
  expect(await changes).toMatchObject([{ change: 'modified', path: 'a' }]);
});

test('[FILE14] when the thread ends, running tasks fail, and the next task starts another thread', async () => {
  const { write, at, blobs } = start();
  write('a', 'one');
  process.once('worker', (thread) => {
    blobs.putBlobs = async () => {
      await thread.terminate();
    };
  });
  await expect(worktrees.snapshot(at, blobs)).rejects.toMatchObject({ code: 'FILE_UNAVAILABLE' });
  const { root } = await worktrees.snapshot(at, new MemoryBlobs());
  expect(root).toMatch(/^[0-9a-f]{64}$/);
});

test('[FILE14] a large snapshot leaves the event loop free', async () => {
  const { write, at, blobs } = start();
  for (let index = 0; index < 2000; index++) write(`${index % 50}/${index}`, `${index}\n`.repeat(500));
  let turns = 0;
  const timer = setInterval(() => turns++, 1);
  const began = performance.now();
  await worktrees.snapshot(at, { ...noStore, putBlobs: async () => undefined });
  const tookMs = performance.now() - began;
  clearInterval(timer);
  expect(turns).toBeGreaterThan(tookMs / 40);
  expect(blobs.kept.size).toBe(0);
});

const noStore = { readBlob: async () => undefined, hasBlobs: async () => new Set<string>() };

test('[FILE14] a process that waits for the thread to stop does not exit before the thread has stopped', async () => {
  const script = runScript(`
    import { Worktrees } from ${moduleUrl('src/core/files/disk/worktrees.ts')};
    import { emptyTree } from ${moduleUrl('src/core/files/tree.ts')};
    const worktrees = new Worktrees();
    await worktrees.changes({ before: emptyTree.hash, after: emptyTree.hash }, {});
    await worktrees.stop();
    console.log('stopped');
  `);
  expect(await script.line()).toBe('stopped');
  expect(await script.ended).toMatchObject({ code: 0 });
});
