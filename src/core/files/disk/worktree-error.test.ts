import { expect, test } from 'vitest';
import { asWorktreeError } from './worktree-error.ts';

const denied = (path: string): Error => Object.assign(new Error(`EACCES: permission denied`), { code: 'EACCES', path });

test.each([
  ['/work', 'the worktree /work cannot be used: this user has no permission'],
  ['/work/src/a.ts', 'the worktree /work cannot be used: /work/src/a.ts: this user has no permission'],
])('[CLI16] a file system error at %s is reported in plain words with its path', async (path, message) => {
  await expect(asWorktreeError('/work', () => Promise.reject(denied(path)))).rejects.toMatchObject({
    code: 'FILE_UNAVAILABLE',
    message,
    details: { folder: '/work', errno: 'EACCES' },
  });
});
