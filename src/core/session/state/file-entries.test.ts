import { expect, test } from 'vitest';
import { type ChangedFile, emptyState, type State } from '../../../schema/state.ts';
import { ledgerProblems } from '../runs/ledger-problems.ts';
import { applyFileChanges, countChanges } from './file-entries.ts';
import { changeState } from './state-change.ts';

const cause = { tool: 'shell', callId: 'c1' };
const after = (changes: readonly ChangedFile[], before: State = emptyState): State['filesModified'] => {
  const { state, delta } = changeState(before, (draft) => applyFileChanges(draft, changes, cause));
  expect(ledgerProblems(state, delta)).toEqual([]);
  return state.filesModified;
};
const created = (path: string): ChangedFile => ({ path, change: 'created' });

test('[FILE16] each path has its newest change and cause, and a rename deletes the old path', () => {
  expect(after([created('a/b.ts'), { path: 'new', change: 'renamed', from: 'old' }])).toEqual({
    'a/b.ts': { change: 'created', ...cause },
    new: { change: 'renamed', from: 'old', ...cause },
    old: { change: 'deleted', ...cause },
  });
});

test('[FILE16] two files that swap paths are both recorded as renamed', () => {
  const swapped: ChangedFile[] = [
    { path: 'a', change: 'renamed', from: 'b' },
    { path: 'b', change: 'renamed', from: 'a' },
  ];
  expect(after(swapped)).toMatchObject({ a: { change: 'renamed', from: 'b' }, b: { change: 'renamed', from: 'a' } });
});

test('[FILE16] too many changed files are grouped by folder and counted', () => {
  const many = Array.from({ length: 3000 }, (_, index) => created(`vendor/${index % 10}/file-${index}`));
  const entries = after([...many, { path: 'src/a.ts', change: 'modified' }]);
  expect(Object.keys(entries)).toHaveLength(11);
  expect(entries).toMatchObject({
    'vendor/3/': { change: 'created', files: 300, ...cause },
    'src/a.ts': { change: 'modified' },
  });
  expect(countChanges([...many, { path: 'a', change: 'deleted' }])).toEqual({
    created: 3000,
    modified: 0,
    deleted: 1,
    renamed: 0,
  });
});

test('[FILE16] many files in the root folder, and paths that cannot be keys, are grouped under ./', () => {
  const many = Array.from({ length: 1001 }, (_, index) => created(`file-${index}`));
  expect(after(many)).toEqual({ './': { change: 'created', files: 1001, ...cause } });
  const deep = Array.from({ length: 40 }, () => 'x'.repeat(80)).join('/');
  expect(after([created('__proto__'), created(deep), created('a')])).toEqual({
    './': { change: 'created', files: 2, ...cause },
    a: { change: 'created', ...cause },
  });
});
