import { expect, test } from 'vitest';
import { buildTrees } from '../../../test/support/files/build-trees.ts';
import { MemoryBlobs } from '../../../test/support/files/memory-blobs.ts';
import { commonTree } from './common-tree.ts';
import { overlayBlobs } from './overlay-blobs.ts';
import { listTree, treeReader } from './read-tree.ts';
import { hashOf } from './tree.ts';

const blobs = new MemoryBlobs();
const file = (text: string) => ({
  kind: 'file' as const,
  mode: 0o644,
  size: text.length,
  hash: hashOf(Buffer.from(text)),
});
type Content = Readonly<Record<string, string>>;
const treeOf = async (content: Content): Promise<string> => {
  const { root, trees } = buildTrees(Object.entries(content).map(([path, text]) => ({ path, entry: file(text) })));
  await blobs.putBlobs(trees);
  return root.hash;
};

test('[FILE36, FILE60] each path has the entry that both sides last had in common', async () => {
  const meetings: readonly (readonly [Content, Content])[] = [
    [
      { same: '2', 'd/ours': '3', 'd/both': '2', gone: '1', 'd/kind': '1' },
      { same: '2', 'd/ours': '2', 'd/both': '2', 'd/kind/x': '1' },
    ],
    [
      { same: '1', 'd/ours': '1', 'd/both': '1', gone: '0', 'd/kind': '0' },
      { same: '1', 'd/ours': '1', 'd/both': '1', gone: '0', 'd/kind': '0' },
    ],
  ];
  const trees = await Promise.all(
    meetings.map(async ([ours, theirs]) => [await treeOf(ours), await treeOf(theirs)] as const),
  );
  const common = await commonTree(treeReader(blobs), trees);
  const found: Record<string, string> = {};
  for await (const [path, entry] of listTree(treeReader(overlayBlobs(blobs, common.trees)), common.root)) {
    if (entry.kind === 'file') found[path] = entry.hash;
  }
  const expected = { same: '2', 'd/ours': '1', 'd/both': '2', gone: '0', 'd/kind': '0' };
  expect(found).toEqual(Object.fromEntries(Object.entries(expected).map(([path, text]) => [path, file(text).hash])));
});
