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
  expect(digestState({ state, provenance }, 4000)).toBe(
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
  const digest = digestState({ state, provenance: {} }, 4 * 35);
  expect(digest).toContain('- new: use B (because A fails)\n- (1 more: recall decisions)');
  expect(digest).toContain('- first: {"a":[1]}\n- (1 more: recall facts)');
  expect(digest).toContain('- half\n- began');
  const least = digestState({ state, provenance: {} }, 0);
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
