import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { restoreSnapshot } from '../../src/core/files/disk/restore.ts';
import { takeSnapshot } from '../../src/core/files/disk/snapshot.ts';
import { readStatCache } from '../../src/core/files/disk/stat-cache.ts';
import { listTree, readContent, treeReader } from '../../src/core/files/read-tree.ts';
import { type Listing, newWorktree, removeWorktrees, type WorktreeFolder } from '../worktree-folder.ts';
import type { FilesPlan } from './files-process.ts';
import { FolderBlobs } from './folder-blobs.ts';

afterEach(removeWorktrees);

const kills = Math.max(20, Number(process.env.PERDURE_KILLS) / 2);
const fileCount = 300;
const entry = fileURLToPath(new URL('./files-process.ts', import.meta.url));

const fill = ({ write, link }: WorktreeFolder, version: string): void => {
  for (let index = 0; index < fileCount; index++) {
    write(
      `${index % 7}/${index % 30}/${index}`,
      `${version} ${index}\n`.repeat(1 + ((index * 37) % 400)),
      index % 3 ? 0o644 : 0o755,
    );
  }
  write(`only-in-${version}/a/b`, version);
  link(`link-of-${version}`, version);
};

const clear = ({ path, remove }: WorktreeFolder): void => {
  for (const name of readdirSync(path)) remove(name);
};

interface Told {
  readonly begun?: string;
  readonly taken?: string;
}

/** Begins, and is killed a while after its work has. */
const killAfter = async (plan: FilesPlan, ms: number, meanwhile: () => void = () => undefined) => {
  const child: ChildProcess = fork(entry, [JSON.stringify(plan)], { execArgv: [] });
  const told: string[] = [];
  child.on('message', ({ taken }: Told) => taken && told.push(taken));
  const [{ begun }] = (await once(child, 'message')) as [Told];
  meanwhile();
  child.send('go');
  await pause(ms);
  child.kill('SIGKILL');
  await once(child, 'exit');
  return [begun!, ...told];
};

const whole = async (blobs: FolderBlobs, root: string): Promise<void> => {
  for await (const [, each] of listTree(treeReader(blobs), root)) {
    if (each.kind === 'file') expect((await readContent(blobs, each.hash)).length).toBe(each.size);
  }
};

const planOf = (worktree: WorktreeFolder, roots: readonly string[]): FilesPlan => {
  const around = dirname(worktree.path);
  return { folder: worktree.path, cacheFile: join(around, 'cache'), blobs: join(around, 'blobs'), roots };
};

test('[FILE12] SIGKILL in the middle of snapshots: what was told is whole, and the next is what the files are', async () => {
  const worktree = newWorktree();
  const plan = planOf(worktree, []);
  const blobs = new FolderBlobs(plan.blobs);
  let told = 0;
  for (let kill = 0; kill < kills; kill++) {
    const finished = await killAfter(plan, Math.random() * 400, () => {
      if (kill % 5 === 4) clear(worktree);
      fill(worktree, `v${kill}`);
    });
    for (const root of finished) await whole(blobs, root);
    told += finished.length;
    const cache = readStatCache(plan.cacheFile);
    // Nobody wrote down what was finished, or somebody did.
    const base = kill % 2 === 0 ? cache?.root.hash : finished.at(-1);
    const taken = await takeSnapshot(
      { folder: plan.folder, base: finished.includes(base ?? '') ? base : undefined },
      cache,
      blobs,
    );
    const anew = await takeSnapshot({ folder: plan.folder }, undefined, blobs);
    expect(taken.snapshot).toEqual(anew.snapshot);
    await whole(blobs, taken.snapshot.root);
    const copy = newWorktree();
    await restoreSnapshot({ folder: copy.path, root: taken.snapshot.root }, undefined, blobs);
    expect(copy.list()).toEqual(worktree.list());
  }
  console.log(`${kills} kills in the middle of snapshots, ${told} finished ones whole`);
});

const isPartOf = (now: Listing, ...of: readonly Listing[]): void => {
  for (const [path, what] of Object.entries(now)) {
    if (path.startsWith('.perdure') || what.startsWith('folder')) continue;
    expect(
      of.map((listing) => listing[path]),
      path,
    ).toContain(what);
  }
};

test('[FILE12] SIGKILL in the middle of restores: every file is whole, and a further restore gives the exact tree', async () => {
  const worktree = newWorktree();
  const plan = planOf(worktree, []);
  const blobs = new FolderBlobs(plan.blobs);
  const points: { root: string; listing: Listing }[] = [];
  for (const version of ['one', 'two']) {
    clear(worktree);
    fill(worktree, version);
    const { root } = (await takeSnapshot({ folder: plan.folder }, undefined, blobs)).snapshot;
    points.push({ root, listing: worktree.list() });
  }
  const [one, two] = points as [(typeof points)[number], (typeof points)[number]];
  let parts = 0;
  for (let kill = 0; kill < kills; kill++) {
    await killAfter({ ...plan, roots: [one.root, two.root] }, Math.random() * 400);
    const now = worktree.list();
    isPartOf(now, one.listing, two.listing);
    if (![one, two].some(({ listing }) => JSON.stringify(listing) === JSON.stringify(now))) parts++;
    const wanted = kill % 2 === 0 ? one : two;
    await restoreSnapshot({ folder: plan.folder, root: wanted.root }, readStatCache(plan.cacheFile), blobs);
    expect(worktree.list()).toEqual(wanted.listing);
  }
  console.log(`${kills} kills in the middle of restores, ${parts} left a part of both`);
  expect(parts).toBeGreaterThan(0);
});
