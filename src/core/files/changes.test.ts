import { expect, test } from 'vitest';
import { buildTrees, type PathEntry } from '../../../test/support/files/build-trees.ts';
import { type FileChange, findChanges, findRenames } from './changes.ts';
import { blobOfTree, decodeTree, hashOf, type Tree, type TreeEntry } from './tree.ts';

const trees = new Map<string, Uint8Array>();
let reads = 0;
const read = async (hash: string): Promise<Tree> => {
  reads++;
  return decodeTree(trees.get(hash)!);
};

const file = (content: string, mode = 0o644) =>
  ({ kind: 'file', mode, size: content.length, hash: hashOf(Buffer.from(content)) }) as const;

const treeOf = (entries: Readonly<Record<string, PathEntry['entry']>>): string => {
  const built = buildTrees(Object.entries(entries).map(([path, entry]) => ({ path, entry })));
  for (const { hash, bytes } of built.trees) trees.set(hash, bytes);
  return built.root.hash;
};

const linesOf = (changes: readonly FileChange[]) =>
  changes.map((each) => `${each.change} ${'from' in each ? `${each.from} to ` : ''}${each.path}`);

const changesOf = async (before: string, after: string) =>
  findRenames(await findChanges({ hash: before, read }, { hash: after, read }));

test('[FILE9] created, deleted, modified and newly executable files are listed by path', async () => {
  const before = treeOf({ a: file('1'), 'b/c': file('2'), 'b/d': file('3'), e: file('4'), 'x/y': file('5') });
  const after = treeOf({
    a: file('1', 0o755),
    'b/c': file('changed'),
    'new/z': file('6'),
    e: { kind: 'link', target: 'a' },
    x: file('7'),
  });
  expect(linesOf(await changesOf(before, after))).toEqual([
    'mode-changed a',
    'modified b/c',
    'deleted b/d',
    'modified e',
    'created new',
    'created new/z',
    'deleted x',
    'created x',
    'deleted x/y',
  ]);
});

test('[FILE9] moved content is reported as renamed, preferably to a path with the same file name', async () => {
  const before = treeOf({
    'old/a': file('same'),
    'old/b': file('same'),
    link: { kind: 'link', target: 't' },
    empty: file(''),
  });
  const after = treeOf({
    'new/b': file('same'),
    'new/c': file('same', 0o755),
    ln: { kind: 'link', target: 't' },
    none: file(''),
  });
  expect(linesOf(await changesOf(before, after))).toEqual([
    'deleted empty',
    'renamed link to ln',
    'created new',
    'renamed old/b to new/b',
    'renamed old/a to new/c',
    'created none',
    'deleted old',
  ]);
});

test('[FILE9] equal folders are not read', async () => {
  const same = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`same/${index}/a`, file(String(index))]));
  const [before, after] = [treeOf({ ...same, 'b/a': file('1') }), treeOf({ ...same, 'b/a': file('2') })];
  reads = 0;
  expect(linesOf(await changesOf(before, after))).toEqual(['modified b/a']);
  expect(reads).toBe(4);
});

const keep = (entries: [string, TreeEntry][]): string => {
  const { hash, bytes } = blobOfTree(new Map(entries));
  trees.set(hash, bytes);
  return hash;
};

test('[FILE11] a few trees that expand to an unlimited number or depth of paths are rejected', async () => {
  const folder = (hash: string) => ({ kind: 'folder', mode: 0o755, hash }) as const;
  const none = keep([]);
  let wide = none;
  for (let level = 0; level < 12; level++) {
    wide = keep(Array.from({ length: 10 }, (_, index) => [String(index), folder(wide)]));
  }
  const known = new Map<string, Tree>();
  const readOnce = async (hash: string) => known.get(hash) ?? known.set(hash, await read(hash)).get(hash)!;
  await expect(findChanges({ hash: none, read }, { hash: wide, read: readOnce })).rejects.toMatchObject({
    code: 'PAYLOAD_TOO_LARGE',
  });
  let deep = none;
  for (let level = 0; level < 5000; level++) deep = keep([['a', folder(deep)]]);
  await expect(changesOf(none, deep)).rejects.toMatchObject({ code: 'INVALID_INPUT' });
});
