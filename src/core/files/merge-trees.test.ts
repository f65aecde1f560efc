import { describe, expect, test } from 'vitest';
import { buildTrees } from '../../../test/support/files/build-trees.ts';
import type { Blobs } from '../ports/blobs.ts';
import { mergeTrees } from './merge-trees.ts';
import { listTree, treeReader } from './read-tree.ts';
import { emptyTree, hashOf } from './tree.ts';
import { withEntry } from './with-entry.ts';

const kept = new Map<string, Uint8Array>();
const blobs: Blobs = {
  putBlobs: async (all) => {
    for (const { hash, bytes } of all) kept.set(hash, bytes);
  },
  readBlob: async (hash) => kept.get(hash),
  hasBlobs: async (hashes) => new Set(hashes.filter((hash) => kept.has(hash))),
};
const file = (text: string) => ({
  kind: 'file' as const,
  mode: 0o644,
  size: text.length,
  hash: hashOf(Buffer.from(text)),
});
const treeOf = async (content: Record<string, string>): Promise<string> => {
  const { root, trees } = buildTrees(Object.entries(content).map(([path, text]) => ({ path, entry: file(text) })));
  await blobs.putBlobs(trees);
  return root.hash;
};
const filesOf = async (root: string): Promise<Record<string, string>> => {
  const found: Record<string, string> = {};
  for await (const [path, entry] of listTree(treeReader(blobs), root)) {
    if (entry.kind === 'file') found[path] = entry.hash;
  }
  return found;
};
const sameAs = (content: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(content).map(([path, text]) => [path, file(text).hash]));

describe('merging trees', () => {
  const merge = async (
    base: Record<string, string>,
    ours: Record<string, string>,
    theirs: Record<string, string>,
  ): Promise<{ files: Record<string, string>; conflicts: readonly string[] }> => {
    const roots = [await treeOf(base), await treeOf(ours), await treeOf(theirs)] as const;
    const { root, trees, conflicts } = await mergeTrees(treeReader(blobs), ...roots);
    await blobs.putBlobs(trees);
    return { files: await filesOf(root), conflicts };
  };

  test('[FILE15] a change by one side is adopted, including deletions and new folders', async () => {
    const merged = await merge(
      { a: '1', 'd/b': '1', 'd/c': '1', gone: '1' },
      { a: '2', 'd/b': '1', 'd/c': '1', 'new/ours': '1', gone: '1' },
      { a: '1', 'd/b': '2', 'd/c': '1', 'new/theirs': '1' },
    );
    const files = sameAs({ a: '2', 'd/b': '2', 'd/c': '1', 'new/ours': '1', 'new/theirs': '1' });
    expect(merged).toEqual({ files, conflicts: [] });
  });

  test('[FILE15] equal changes by both sides do not conflict; different ones keep ours and report the path', async () => {
    const merged = await merge(
      { a: '1', b: '1', 'd/c': '1' },
      { a: '2', b: 'ours', 'd/c': '1', e: '1' },
      { a: '2', b: 'theirs', d: 'a file now', e: '2' },
    );
    expect(merged).toEqual({ files: sameAs({ a: '2', b: 'ours', d: 'a file now', e: '1' }), conflicts: ['b', 'e'] });
  });

  test('[FILE15] a folder that one side deleted and the other changed is a conflict', async () => {
    const merged = await merge({ 'd/a': '1' }, {}, { 'd/a': '2' });
    expect(merged).toEqual({ files: {}, conflicts: ['d'] });
  });
});

describe('withEntry', () => {
  test('[FILE15] sets and removes an entry, creating the folders on its path', async () => {
    const read = treeReader(blobs);
    const made = (await withEntry(read, emptyTree.hash, ['a', 'b', 'c'], file('1')))!;
    await blobs.putBlobs(made.trees);
    expect(await filesOf(made.root)).toEqual(sameAs({ 'a/b/c': '1' }));
    const gone = (await withEntry(treeReader(blobs), made.root, ['a', 'b', 'c'], undefined))!;
    await blobs.putBlobs(gone.trees);
    expect(await filesOf(gone.root)).toEqual({});
  });

  test('[FILE15] returns undefined for a path below a file', async () => {
    expect(await withEntry(treeReader(blobs), await treeOf({ a: '1' }), ['a', 'b'], file('1'))).toBeUndefined();
  });
});
