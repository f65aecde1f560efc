import { describe, expect, test } from 'vitest';
import { buildTrees } from '../../../test/support/files/build-trees.ts';
import { decodeTree, encodeTree, hashOf, type TreeEntry } from './tree.ts';

const hash = hashOf(Buffer.from('hello\n'));
const file: TreeEntry = { kind: 'file', mode: 0o644, size: 6, hash };

test('[FILE1, FILE40] the encoding of a tree does not depend on the order of its entries', () => {
  const entries: [string, TreeEntry][] = [
    ['b', file],
    ['a', { kind: 'folder', mode: 0o755, hash }],
    ['é"\n', { kind: 'link', target: '../x' }],
  ];
  const bytes = encodeTree(new Map(entries));
  expect(bytes.toString()).toBe(
    `perdure.tree.1\n[["a","folder",493,"${hash}"],["b","file",420,"${hash}",6],["é\\"\\n","link","../x"]]`,
  );
  expect(hashOf(bytes)).toBe('444ea981a9018959479664f5574a1779dc9babf4293d133fe0be81546671a6dc');
  expect(encodeTree(new Map(entries.toReversed()))).toEqual(bytes);
  expect(decodeTree(bytes)).toEqual(new Map(entries));
});

const row = (name: unknown, ...rest: unknown[]) =>
  JSON.stringify([[name, ...(rest.length > 0 ? rest : ['file', 420, hash, 6])]]);
const hostileTrees: Readonly<Record<string, string>> = {
  'without a header': `[["a","file",420,"${hash}",6]]`,
  'of another version': `perdure.tree.2\n[]`,
  'that is not JSON': 'perdure.tree.1\n[[',
  'that is not a list': 'perdure.tree.1\n{}',
  'with the name ..': `perdure.tree.1\n${row('..')}`,
  'with the name .': `perdure.tree.1\n${row('.')}`,
  'with a path as a name': `perdure.tree.1\n${row('a/b')}`,
  'with an upward path as a name': `perdure.tree.1\n${row('../../etc/passwd')}`,
  'with an absolute name': `perdure.tree.1\n${row('/etc/passwd')}`,
  'with an empty name': `perdure.tree.1\n${row('')}`,
  'with a number as a name': `perdure.tree.1\n${row(7)}`,
  'with a NUL in a name': `perdure.tree.1\n${row('a\0b')}`,
  'with a lone surrogate in a name': `perdure.tree.1\n[["\\ud800","file",420,"${hash}",6]]`,
  "with the runtime's folder": `perdure.tree.1\n${row('.perdure')}`,
  "with the runtime's folder in capitals": `perdure.tree.1\n${row('.PerDure')}`,
  "with the runtime's folder and a character that HFS+ ignores": `perdure.tree.1\n${row('.per\u200cdure')}`,
  'with the same name twice': `perdure.tree.1\n[["a","file",420,"${hash}",6],["a","link","x"]]`,
  'with unsorted names': `perdure.tree.1\n[["b","file",420,"${hash}",6],["a","link","x"]]`,
  'with a setuid file': `perdure.tree.1\n${row('a', 'file', 0o4755, hash, 6)}`,
  'with a negative mode': `perdure.tree.1\n${row('a', 'file', -1, hash, 6)}`,
  'with a negative size': `perdure.tree.1\n${row('a', 'file', 420, hash, -1)}`,
  'with a path as a hash': `perdure.tree.1\n${row('a', 'file', 420, '../../x', 6)}`,
  'with a device': `perdure.tree.1\n${row('a', 'device', 420, hash, 6)}`,
  'with a NUL in a link target': `perdure.tree.1\n${row('a', 'link', 'x\0y')}`,
  'with an empty link target': `perdure.tree.1\n${row('a', 'link', '')}`,
  'with an extra field in a row': `perdure.tree.1\n${row('a', 'link', 'x', 'y')}`,
};

describe('[FILE11] a malformed or hostile tree is rejected', () => {
  test.each(Object.entries(hostileTrees))('%s', (_, text) => {
    expect(() => decodeTree(Buffer.from(text))).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  });
});

const link = (path: string, target: string) => ({ path, entry: { kind: 'link', target } as const });
const plain = (path: string) => ({ path, entry: file as Extract<TreeEntry, { kind: 'file' }> });
const hostileArchives = {
  'upwards with ..': [plain('../a')],
  'upwards from a subfolder': [plain('a/../../b')],
  'upwards and back inside': [plain('a/../b')],
  'an absolute path': [plain('/etc/passwd')],
  'two slashes': [plain('//host/share')],
  'through a link': [link('a', '/etc'), plain('a/passwd')],
  'through a link that comes later': [plain('a/passwd'), link('a', '/etc')],
  'through a file': [plain('a'), plain('a/b')],
  'the same path twice': [plain('a'), plain('a')],
  'the same path twice in different notations': [plain('a/b'), plain('a//./b')],
  "the runtime's folder": [plain('.perdure/perdure.db')],
  "the runtime's folder in a subfolder": [plain('a/.PERDURE/x')],
  'the worktree itself': [plain('./')],
  'an empty path': [plain('')],
  'a NUL in a path': [plain('a\0.txt')],
  'a NUL in a link target': [link('a', '/etc\0')],
  'a name that is too long': [plain('x'.repeat(256))],
};

describe('[FILE11] a hostile archive entry is rejected', () => {
  test.each(Object.entries(hostileArchives))('%s', (_, entries) => {
    expect(() => buildTrees(entries)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
  });
});
