import { expect, test } from 'vitest';
import { emptyState, type State } from '../../../schema/state.ts';
import { digestState } from './digest.ts';

const state: State = {
  ...emptyState,
  facts: { port: 8080, host: 'here', first: { a: [1] }, second: null },
  pins: { port: true },
  pendingActions: {
    ask: { what: 'ask Ann', status: 'open' },
    push: { what: 'push', status: 'settled', outcome: 'done' },
  },
  plan: {
    last: { step: 'ship', status: 'todo', order: 4 },
    none: { step: 'wait', status: 'dropped', order: 3 },
    now: { step: 'mend', status: 'doing', order: 2 },
    before: { step: 'look', status: 'done', order: 1 },
  },
  decisions: { old: { what: 'use A', why: 'it is there' }, new: { what: 'use B', why: 'A fails' } },
  progress: { p1: { note: 'began' }, p2: { note: 'half' } },
  own: { moves: [] },
};

test('[CTX6, CTX8] a digest lists pinned facts, open actions, the plan in order, and the rest newest first', () => {
  const provenance = { '/facts/host': 'unverified', '/plan/now': 'unverified', '/facts/port': 'human' } as const;
  expect(digestState({ state, provenance, recentFiles: [] }, 4000)).toBe(
    [
      '## Pinned facts',
      '- port: 8080',
      '## Open actions',
      '- ask: ask Ann',
      '(1 settled)',
      '## Plan',
      '- [x] before: look',
      '- [>] now: mend (unverified)',
      '- [-] none: wait',
      '- [ ] last: ship',
      '## Decisions',
      '- new: use B (because A fails)',
      '- old: use A (because it is there)',
      '## Facts',
      '- second: null',
      '- first: {"a":[1]}',
      '- host: here (unverified)',
      '## Progress',
      '- half',
      '- began',
      "(The agent's own part of the state: recall own)",
    ].join('\n'),
  );
});

test('[CTX2] a digest states per part how many entries did not fit, and always keeps pinned facts and open actions', () => {
  const digest = digestState({ state, provenance: {}, recentFiles: [] }, 4 * 35);
  expect(digest).toContain('- new: use B (because A fails)\n- (1 more: recall decisions)');
  expect(digest).toContain('- first: {"a":[1]}\n- (1 more: recall facts)');
  expect(digest).toContain('- half\n- began');
  const least = digestState({ state, provenance: {}, recentFiles: [] }, 0);
  expect(least).toContain('- port: 8080\n## Open actions\n- ask: ask Ann\n');
  for (const name of [
    '4 more: recall plan',
    '2 more: recall decisions',
    '3 more: recall facts',
    '2 more: recall progress',
  ]) {
    expect(least).toContain(`- (${name})`);
  }
});

test('[CTX16] a digest names changed files, the newest first, and counts those that it leaves out', () => {
  const filesModified: State['filesModified'] = {
    'src/a.ts': { change: 'modified', tool: 'edit' },
    'b\n## Facts': { change: 'renamed', from: 'c', tool: 'shell' },
    lib: { change: 'created', files: 900 },
  };
  const fold = { state: { ...state, filesModified }, provenance: {}, recentFiles: ['lib', 'src/a.ts'] };
  expect(digestState(fold, 4000)).toContain(
    [
      '## Files changed',
      '- "src/a.ts" modified by "edit"',
      '- "lib" created (900 files)',
      '- "b\\n## Facts" renamed from "c" by "shell"',
    ].join('\n'),
  );
  const least = digestState(fold, 0);
  expect(least).toContain('## Files changed\n- (3 more: recall filesModified)');
  expect(least).toContain('## Open actions\n- ask: ask Ann');
});

test('[CTX16, CTX17] parts that are empty leave their room to others, down to a quarter for each', () => {
  const facts = Object.fromEntries(Array.from({ length: 200 }, (_, index) => [`k${index}`, 'x'.repeat(20)]));
  const filesModified: State['filesModified'] = { a: { change: 'created' } };
  const sizeOf = (part: Partial<State>) =>
    digestState({ state: { ...emptyState, facts, ...part }, provenance: {}, recentFiles: [] }, 4000)
      .split('\n')
      .filter((line) => line.startsWith('- k')).length;
  expect(sizeOf({})).toBe(sizeOf({ filesModified }));
  const { plan, decisions, progress } = state;
  expect(sizeOf({ plan, decisions, progress, filesModified })).toBeLessThan(sizeOf({}));
});
