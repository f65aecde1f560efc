import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findInside } from './find-inside.ts';

let around: string;
let folder: string;
beforeAll(() => {
  around = realpathSync(mkdtempSync(join(tmpdir(), 'perdure-inside-')));
  folder = join(around, 'worktree');
  mkdirSync(join(folder, 'a'), { recursive: true });
  mkdirSync(join(folder, '.perdure'));
  mkdirSync(join(around, 'worktree-beside'));
  writeFileSync(join(around, 'secret'), 'theirs');
  writeFileSync(join(folder, 'a/file'), 'mine');
  const links = {
    up: '..',
    'a/up': '../..',
    secret: '../secret',
    absolute: join(around, 'secret'),
    root: '/',
    'first-of-two': 'second-of-two',
    'second-of-two': '..',
    beside: '../worktree-beside',
    dangling: join(around, 'not-yet'),
    'dangling-within': 'not-yet',
    round: 'round',
    own: '.perdure',
    'down-and-up': 'a/../../secret',
    inner: 'a',
  };
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(folder, name));
});
afterAll(() => rmSync(around, { recursive: true }));

const hostile = [
  'up',
  'up/secret',
  'up/new',
  'a/up/secret',
  'secret',
  'absolute',
  'root/etc/passwd',
  'first-of-two/secret',
  'beside/new',
  'dangling',
  'dangling/new',
  'dangling-within',
  'own/perdure.db',
  'down-and-up',
  'inner/up/secret',
  'inner/../up/secret',
  '.perdure/x',
  '../worktree-beside/x',
  '../secret',
  'a/../../secret',
  '/etc/passwd',
  'a\0b',
];

describe('[FILE11] a path that leads out of a worktree on a real disk is rejected', () => {
  test.each(hostile)('%j', async (path) => {
    expect(await findInside(folder, path)).toHaveProperty('problem');
  });
  test('"round", a link to itself', async () => {
    await expect(findInside(folder, 'round')).rejects.toMatchObject({ code: 'ELOOP' });
  });
});

test('[FILE11] a path inside the worktree is found, also through links', async () => {
  for (const path of ['a/file', './a//file', 'inner/file', 'a/../a/file', join(folder, 'a/file')]) {
    expect(await findInside(folder, path)).toEqual({ root: folder, real: join(folder, 'a/file'), name: 'a/file' });
  }
  expect(await findInside(folder, '.')).toEqual({ root: folder, real: folder, name: '.' });
  expect(await findInside(folder, 'new/deep')).toEqual({
    root: folder,
    real: join(folder, 'new/deep'),
    name: 'new/deep',
  });
});
