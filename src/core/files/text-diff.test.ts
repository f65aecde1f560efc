import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { FileChange } from './changes.ts';
import { diffFile } from './text-diff.ts';
import { hashOf, type TreeEntry } from './tree.ts';

const contents = new Map<string, Uint8Array>();
const read = async (hash: string) => contents.get(hash)!;

const fileOf = (content: string | Uint8Array, mode = 0o644): Extract<TreeEntry, { kind: 'file' }> => {
  const bytes = Buffer.from(content);
  const hash = hashOf(bytes);
  contents.set(hash, bytes);
  return { kind: 'file', mode, size: bytes.length, hash };
};

const put = (folder: string, path: string, entry: TreeEntry): void => {
  if (entry.kind === 'link') {
    symlinkSync(entry.target, join(folder, path));
    return;
  }
  writeFileSync(join(folder, path), contents.get(entry.hash)!);
  chmodSync(join(folder, path), entry.mode);
};

const textAt = (path: string): string => {
  try {
    return `link ${readlinkSync(path)}`;
  } catch {
    return `${statSync(path).mode & 0o100 ? 'runs' : 'file'} ${readFileSync(path, 'utf8')}`;
  }
};

/** The folder after `git apply` of the diff. */
const applied = (unified: string, before?: readonly [string, TreeEntry]): Readonly<Record<string, string>> => {
  const folder = mkdtempSync(join(tmpdir(), 'perdure-diff-'));
  try {
    if (before) put(folder, ...before);
    if (unified !== '')
      execFileSync('git', ['apply', '--unsafe-paths', '-'], {
        cwd: folder,
        input: unified,
        stdio: ['pipe', 'pipe', 'pipe'],
      });
    return Object.fromEntries(readdirSync(folder).map((name) => [name, textAt(join(folder, name))]));
  } finally {
    rmSync(folder, { recursive: true });
  }
};

const expected = (path: string, entry: TreeEntry) => ({
  [path]:
    entry.kind === 'link'
      ? `link ${entry.target}`
      : `${(entry as { mode: number }).mode & 0o100 ? 'runs' : 'file'} ${Buffer.from(contents.get(entry.hash)!).toString()}`,
});

const line = fc.constantFrom(
  'a',
  'b',
  '',
  'same',
  '  x',
  '\\ No newline at end of file',
  '@@ -1 +1 @@',
  '-- a',
  '+++ b',
  'é',
  'a\rb',
);
const text = fc
  .tuple(fc.array(line, { maxLength: 12 }), fc.constantFrom('', '\n', '\r\n'))
  .map(([lines, end]) => lines.join('\n') + end);
const name = fc.constantFrom('a', 'a b', 'é', 'a"b', 'tab\there', '-x', 'b\\n');

test('[FILE10] git apply with the diff turns the old content into the new', async () => {
  await fc.assert(
    fc.asyncProperty(text, text, name, fc.boolean(), async (old, now, path, runs) => {
      const before = fileOf(old);
      const after = fileOf(now, runs ? 0o755 : 0o644);
      fc.pre(before.hash !== after.hash);
      const { content, unified } = await diffFile({ change: 'modified', path, before, after }, read);
      expect(content?.kind).toBe('text');
      expect(applied(unified, [path, before])).toEqual(expected(path, after));
    }),
    { numRuns: 60 },
  );
});

test('[FILE10] git can apply the diffs of created, deleted, renamed, linked and executable files', async () => {
  const one = fileOf('one\n');
  const link: TreeEntry = { kind: 'link', target: '../x' };
  const runs = fileOf('one\n', 0o755);
  const changes: [FileChange, readonly [string, TreeEntry] | undefined, Record<string, string>][] = [
    [{ change: 'created', path: 'a b', after: runs }, undefined, expected('a b', runs)],
    [{ change: 'created', path: 'a', after: link }, undefined, expected('a', link)],
    [{ change: 'created', path: 'a', after: fileOf('') }, undefined, expected('a', fileOf(''))],
    [{ change: 'deleted', path: 'a', before: one }, ['a', one], {}],
    [{ change: 'renamed', path: 'b', from: 'a', before: one, after: one }, ['a', one], expected('b', one)],
    [{ change: 'renamed', path: 'b', from: 'a', before: one, after: runs }, ['a', one], expected('b', runs)],
    [{ change: 'mode-changed', path: 'a', before: one, after: runs }, ['a', one], expected('a', runs)],
    [{ change: 'modified', path: 'a', before: one, after: link }, ['a', one], expected('a', link)],
    [{ change: 'modified', path: 'a', before: link, after: runs }, ['a', link], expected('a', runs)],
  ];
  for (const [change, before, after] of changes) {
    const { unified } = await diffFile(change, read);
    expect(applied(unified, before), unified).toEqual(after);
  }
  const folder: FileChange = { change: 'created', path: 'a', after: { kind: 'folder', mode: 0o755, hash: one.hash } };
  expect(await diffFile(folder, read)).toEqual({ change: folder, unified: '' });
});

test('[FILE10] the hunks hold the same diff as data', async () => {
  const lines = Array.from({ length: 30 }, (_, index) => `line ${index + 1}`);
  const [before, after] = [fileOf(lines.join('\n')), fileOf(lines.with(14, 'changed').join('\n'))];
  const { content } = await diffFile({ change: 'modified', path: 'a', before, after }, read);
  expect(content).toEqual({
    kind: 'text',
    hunks: [
      {
        oldStart: 12,
        oldLines: 7,
        newStart: 12,
        newLines: 7,
        lines: [' line 12', ' line 13', ' line 14', '-line 15', '+changed', ' line 16', ' line 17', ' line 18'],
      },
    ],
  });
});

test('[FILE10] binary content, and content that takes too long to compare, is reported as such', async () => {
  const compare = async (old: string | Uint8Array, now: string | Uint8Array) =>
    diffFile({ change: 'modified', path: 'a', before: fileOf(old), after: fileOf(now) }, read);
  expect(await compare('a', Buffer.from([0, 1]))).toMatchObject({
    content: { kind: 'binary' },
    unified: expect.stringContaining('Binary files'),
  });
  expect((await compare(Buffer.from([0xff, 0xfe]), 'a')).content).toEqual({ kind: 'binary' });
  expect((await compare('a', 'x'.repeat(3_000_000))).content).toEqual({ kind: 'too-large' });
  const began = performance.now();
  const random = (seed: number) => Array.from({ length: 100_000 }, (_, index) => (index * seed) % 99_991).join('\n');
  expect((await compare(random(7919), random(104_729))).content).toEqual({ kind: 'too-large' });
  expect(performance.now() - began).toBeLessThan(10_000);
});
