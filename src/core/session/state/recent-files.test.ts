import { expect, test } from 'vitest';
import { emptyState, type State } from '../../../schema/state.ts';
import { filesNewestFirst, maxRecentFiles, recentFilesAfter } from './recent-files.ts';

const having = (...paths: readonly string[]): State => ({
  ...emptyState,
  filesModified: Object.fromEntries(paths.map((path) => [path, { change: 'modified' as const }])),
});
const add = (path: string) => ({ op: 'add', path: `/filesModified/${path}`, value: {} }) as const;

test('[CTX16] a file that changes again is the newest, and a removed one is forgotten', () => {
  const state = having('a', 'b', 'c');
  let recent = recentFilesAfter([], state, [add('a'), add('b'), add('c')]);
  recent = recentFilesAfter(recent, state, [{ op: 'replace', path: '/filesModified/a/change', value: 'deleted' }]);
  expect(recent).toEqual(['b', 'c', 'a']);
  expect(recentFilesAfter(recent, having('a', 'b'), [{ op: 'remove', path: '/filesModified/c' }])).toEqual(['b', 'a']);
  expect(recentFilesAfter(recent, having('a'), [{ op: 'replace', path: '/filesModified', value: {} }])).toEqual(['a']);
  expect(recentFilesAfter(recent, state, [{ op: 'remove', path: '/facts/a' }])).toBe(recent);
});

test('[CTX16] the order of few files is kept, and the others follow', () => {
  const paths = Array.from({ length: maxRecentFiles + 5 }, (_, index) => `f${index}`);
  const state = having(...paths);
  const recent = recentFilesAfter([], state, paths.map(add));
  expect(recent).toHaveLength(maxRecentFiles);
  expect(filesNewestFirst(state, recent)).toEqual(paths.toReversed());
});
