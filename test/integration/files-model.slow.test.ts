import { chmodSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import fc from 'fast-check';
import { afterEach, expect, test } from 'vitest';
import { findChanges, findRenames } from '../../src/core/files/changes.ts';
import { restoreSnapshot } from '../../src/core/files/disk/restore.ts';
import { takeSnapshot } from '../../src/core/files/disk/snapshot.ts';
import { readStatCache, type StatCache, writeStatCache } from '../../src/core/files/disk/stat-cache.ts';
import { listTree, treeReader } from '../../src/core/files/read-tree.ts';
import type { TreeEntry } from '../../src/core/files/tree.ts';
import { MemoryBlobs } from '../support/files/memory-blobs.ts';
import { newWorktree, removeWorktrees, type WorktreeFolder } from '../support/files/worktree-folder.ts';

afterEach(removeWorktrees);

const name = fc.constantFrom('a', 'b', 'c', 'é', 'a b', '-rf', 'x.txt', '\n', '.hidden', '__proto__');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
const content = fc.oneof(
  fc.constantFrom('', 'one\n', 'two\n', 'one\ntwo\n'),
  fc.string({ unit: 'binary', maxLength: 40 }),
);
const mode = fc.constantFrom(0o644, 0o755, 0o600, 0o444, 0o777);

type Edit =
  | { readonly do: 'write'; readonly path: string; readonly content: string; readonly mode: number }
  | { readonly do: 'link'; readonly path: string; readonly target: string }
  | { readonly do: 'folder'; readonly path: string; readonly mode: number }
  | { readonly do: 'remove'; readonly path: string }
  | { readonly do: 'chmod'; readonly path: string; readonly mode: number }
  | { readonly do: 'move'; readonly path: string; readonly to: string };

const edit: fc.Arbitrary<Edit> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('write' as const), path, content, mode }) },
  fc.record({
    do: fc.constant('link' as const),
    path,
    target: fc.constantFrom('a', '../b', '/etc/passwd', 'no/where'),
  }),
  fc.record({ do: fc.constant('folder' as const), path, mode: fc.constantFrom(0o755, 0o700, 0o777) }),
  fc.record({ do: fc.constant('remove' as const), path }),
  fc.record({ do: fc.constant('chmod' as const), path, mode }),
  fc.record({ do: fc.constant('move' as const), path, to: path }),
);
const edits = fc.array(edit, { maxLength: 12 });

const actions: { [Do in Edit['do']]: (folder: WorktreeFolder, edit: Extract<Edit, { do: Do }>) => void } = {
  write: ({ at }, each) => {
    mkdirSync(dirname(at(each.path)), { recursive: true });
    // Never write through a link: it may lead to a file of another worktree or of the machine.
    rmSync(at(each.path), { force: true });
    writeFileSync(at(each.path), each.content, 'utf8');
    chmodSync(at(each.path), each.mode);
  },
  link: ({ at }, each) => {
    mkdirSync(dirname(at(each.path)), { recursive: true });
    symlinkSync(each.target, at(each.path));
  },
  folder: ({ at }, each) => {
    mkdirSync(at(each.path), { recursive: true });
    chmodSync(at(each.path), each.mode);
  },
  remove: ({ at }, each) => rmSync(at(each.path), { recursive: true }),
  chmod: ({ at }, each) => {
    const stats = lstatSync(at(each.path));
    if (!stats.isSymbolicLink()) chmodSync(at(each.path), stats.isDirectory() ? each.mode | 0o700 : each.mode);
  },
  move: ({ at }, each) => renameSync(at(each.path), at(each.to)),
};

/** Whether the path passes through a link, so that an edit would change another place. */
const isThroughLink = ({ at }: WorktreeFolder, way: string): boolean =>
  way
    .split('/')
    .slice(0, -1)
    .some((_, index, all) => {
      const stats = lstatSync(at(all.slice(0, index + 1).join('/')), { throwIfNoEntry: false });
      return stats?.isSymbolicLink() ?? false;
    });

const makeEdits = (folder: WorktreeFolder, all: readonly Edit[]): void => {
  for (const each of all) {
    try {
      const ways = 'to' in each ? [each.path, each.to] : [each.path];
      if (!ways.some((way) => isThroughLink(folder, way))) actions[each.do](folder, each as never);
    } catch (error) {
      // Skip an edit that is impossible here.
      if ((error as NodeJS.ErrnoException).code === undefined) throw error;
    }
  }
};

const options = { numRuns: Number(process.env.PERDURE_RUNS ?? 60) };

test('[FILE2, FILE7] random trees and edits: restoring any snapshot yields its files, from any other state', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(edits, { minLength: 2, maxLength: 4 }), fc.nat(), async (rounds, pick) => {
      const folder = newWorktree();
      const blobs = new MemoryBlobs();
      let cache: StatCache | undefined;
      const points: { root: string; listing: object }[] = [];
      for (const round of rounds) {
        makeEdits(folder, round);
        const taken = await takeSnapshot({ folder: folder.path, base: points.at(-1)?.root }, cache, blobs);
        ({ cache } = taken);
        points.push({ root: taken.snapshot.root, listing: folder.list() });
      }
      makeEdits(folder, rounds[pick % rounds.length]!);
      const byHand = folder.list();
      const point = points[pick % points.length]!;
      const done = await restoreSnapshot(
        { folder: folder.path, root: point.root, base: points.at(-1)!.root },
        cache,
        blobs,
      );
      expect(folder.list()).toEqual(point.listing);
      const after = await takeSnapshot({ folder: folder.path, base: point.root }, done.cache, blobs);
      expect(after.snapshot.root).toBe(point.root);
      await restoreSnapshot({ folder: folder.path, root: done.restored.before }, after.cache, blobs);
      expect(folder.list()).toEqual(byHand);
      removeWorktrees();
    }),
    options,
  );
});

test('[FILE1, FILE3, FILE4] random trees and edits: an incremental snapshot equals a full one', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(edits, { minLength: 1, maxLength: 5 }), fc.boolean(), async (rounds, isRestarted) => {
      const folder = newWorktree();
      const blobs = new MemoryBlobs();
      const cacheFile = `${folder.path}.cache`;
      let cache: StatCache | undefined;
      let base: string | undefined;
      for (const round of rounds) {
        makeEdits(folder, round);
        const taken = await takeSnapshot({ folder: folder.path, base }, cache, blobs);
        base = taken.snapshot.root;
        writeStatCache(cacheFile, taken.cache);
        cache = isRestarted ? readStatCache(cacheFile) : taken.cache;
        const anew = new MemoryBlobs();
        expect((await takeSnapshot({ folder: folder.path }, undefined, anew)).snapshot).toEqual(taken.snapshot);
        expect(await blobs.hasBlobs([...anew.kept.keys()])).toEqual(new Set(anew.kept.keys()));
      }
      removeWorktrees();
    }),
    options,
  );
});

type Flat = Map<string, TreeEntry>;
const flatten = async (blobs: MemoryBlobs, root: string): Promise<Flat> =>
  new Map(await Array.fromAsync(listTree(treeReader(blobs), root)));
/** Compares only the mode of a folder, because its contents have their own paths. */
const comparable = (flat: Flat) =>
  [...flat]
    .map(([at, entry]) => [at, entry.kind === 'folder' ? { ...entry, hash: '' } : entry] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1));

test('[FILE9] random trees: applying the changes to one tree yields the other', async () => {
  await fc.assert(
    fc.asyncProperty(edits, edits, async (first, second) => {
      const folder = newWorktree();
      const blobs = new MemoryBlobs();
      const roots: string[] = [];
      for (const round of [first, second]) {
        makeEdits(folder, round);
        roots.push((await takeSnapshot({ folder: folder.path }, undefined, blobs)).snapshot.root);
      }
      const read = treeReader(blobs);
      const flat = await flatten(blobs, roots[0]!);
      const changes = findRenames(await findChanges({ hash: roots[0]!, read }, { hash: roots[1]!, read }));
      for (const change of changes) {
        if (change.change === 'deleted') flat.delete(change.path);
        if (change.change === 'renamed') flat.delete(change.from);
      }
      for (const change of changes) if ('after' in change) flat.set(change.path, change.after);
      expect(comparable(flat)).toEqual(comparable(await flatten(blobs, roots[1]!)));
      removeWorktrees();
    }),
    options,
  );
});

test('[FILE13] random edits: worktrees made from one snapshot do not affect each other', async () => {
  await fc.assert(
    fc.asyncProperty(edits, edits, edits, async (common, ofParent, ofChild) => {
      const [parent, child] = [newWorktree(), newWorktree()];
      const blobs = new MemoryBlobs();
      makeEdits(parent, common);
      const fork = await takeSnapshot({ folder: parent.path }, undefined, blobs);
      const made = await restoreSnapshot({ folder: child.path, root: fork.snapshot.root }, undefined, blobs);
      const atFork = parent.list();
      expect(child.list()).toEqual(atFork);
      makeEdits(child, ofChild);
      expect(parent.list()).toEqual(atFork);
      const childNow = child.list();
      makeEdits(parent, ofParent);
      expect(child.list()).toEqual(childNow);
      const parentNow = parent.list();
      const [one, other] = [
        await takeSnapshot({ folder: parent.path }, fork.cache, blobs),
        await takeSnapshot({ folder: child.path }, made.cache, blobs),
      ];
      await restoreSnapshot({ folder: child.path, root: fork.snapshot.root }, other.cache, blobs);
      expect(child.list()).toEqual(atFork);
      expect(parent.list()).toEqual(parentNow);
      await restoreSnapshot({ folder: parent.path, root: other.snapshot.root }, one.cache, blobs);
      expect(parent.list()).toEqual(childNow);
      expect(readdirSync(dirname(parent.path))).toEqual(['worktree']);
      removeWorktrees();
    }),
    options,
  );
});
