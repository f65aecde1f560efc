import { describe, expect, test } from 'vitest';
import { buildTrees } from '../../../test/support/files/build-trees.ts';
import { decodeTree, encodeTree, hashOf, type TreeEntry } from './tree.ts';

const hash = hashOf(Buffer.from('hello\n'));
const file: TreeEntry = { kind: 'file', mode: 0o644, size: 6, hash };

test('[FILE1, FILE40] a tree has one form, whatever the order of its entries', () => {
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
  'no header': `[["a","file",420,"${hash}",6]]`,
  'another version': `perdure.tree.2\n[]`,
  'no JSON': 'perdure.tree.1\n[[',
  'no list': 'perdure.tree.1\n{}',
  'a way up': `perdure.tree.1\n${row('..')}`,
  itself: `perdure.tree.1\n${row('.')}`,
  'a path as a name': `perdure.tree.1\n${row('a/b')}`,
  'a way up as a name': `perdure.tree.1\n${row('../../etc/passwd')}`,
  'an absolute name': `perdure.tree.1\n${row('/etc/passwd')}`,
  'an empty name': `perdure.tree.1\n${row('')}`,
  'a name that is none': `perdure.tree.1\n${row(7)}`,
  'a NUL': `perdure.tree.1\n${row('a\0b')}`,
  'half a character': `perdure.tree.1\n[["\\ud800","file",420,"${hash}",6]]`,
  "the runtime's folder": `perdure.tree.1\n${row('.perdure')}`,
  "the runtime's folder in capitals": `perdure.tree.1\n${row('.PerDure')}`,
  "the runtime's folder with what HFS+ does not see": `perdure.tree.1\n${row('.per\u200cdure')}`,
  'the same name twice': `perdure.tree.1\n[["a","file",420,"${hash}",6],["a","link","x"]]`,
  'another order': `perdure.tree.1\n[["b","file",420,"${hash}",6],["a","link","x"]]`,
  'a file that is set to run as its owner': `perdure.tree.1\n${row('a', 'file', 0o4755, hash, 6)}`,
  'a mode below none': `perdure.tree.1\n${row('a', 'file', -1, hash, 6)}`,
  'a size below none': `perdure.tree.1\n${row('a', 'file', 420, hash, -1)}`,
  'a hash that is a path': `perdure.tree.1\n${row('a', 'file', 420, '../../x', 6)}`,
  'a device': `perdure.tree.1\n${row('a', 'device', 420, hash, 6)}`,
  'a link with a NUL': `perdure.tree.1\n${row('a', 'link', 'x\0y')}`,
  'a link to nothing': `perdure.tree.1\n${row('a', 'link', '')}`,
  'more in a row': `perdure.tree.1\n${row('a', 'link', 'x', 'y')}`,
};

describe('[FILE11] a tree that no release writes is refused', () => {
  test.each(Object.entries(hostileTrees))('%s', (_, text) => {
    expect(() => decodeTree(Buffer.from(text))).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
  });
});

const link = (path: string, target: string) => ({ path, entry: { kind: 'link', target } as const });
const plain = (path: string) => ({ path, entry: file as Extract<TreeEntry, { kind: 'file' }> });
const hostileArchives = {
  'a way up': [plain('../a')],
  'a way up, deeper': [plain('a/../../b')],
  'a way up that comes back': [plain('a/../b')],
  'an absolute path': [plain('/etc/passwd')],
  'two slashes': [plain('//host/share')],
  'through a link': [link('a', '/etc'), plain('a/passwd')],
  'through a link that comes later': [plain('a/passwd'), link('a', '/etc')],
  'through a file': [plain('a'), plain('a/b')],
  'the same twice': [plain('a'), plain('a')],
  'the same twice, written differently': [plain('a/b'), plain('a//./b')],
  "the runtime's folder": [plain('.perdure/perdure.db')],
  "the runtime's folder, deeper": [plain('a/.PERDURE/x')],
  'the worktree itself': [plain('./')],
  nothing: [plain('')],
  'a NUL': [plain('a\0.txt')],
  'a link with a NUL': [link('a', '/etc\0')],
  'a name that is too long': [plain('x'.repeat(256))],
};

describe('[FILE11] an archive entry that leads out of its folder is refused', () => {
  test.each(Object.entries(hostileArchives))('%s', (_, entries) => {
    expect(() => buildTrees(entries)).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
  });
});
