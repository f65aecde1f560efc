import { expect, test } from 'vitest';
import { asksForCommits, commitFilterOf } from './commit-filter.ts';

const now = Date.UTC(2026, 2, 8);

test('[CLI1] a commit filter is built from the given options', () => {
  const options = {
    file: 'src/auth.ts',
    tool: 'edit',
    actor: 'member:local',
    provenance: 'human, verified',
    since: '7d',
    'include-rewound': true,
  };
  expect(commitFilterOf(options, now)).toEqual({
    path: '/filesModified/src~1auth.ts',
    tool: 'edit',
    actor: 'member:local',
    provenance: ['human', 'verified'],
    since: Date.UTC(2026, 2, 1),
    includeRewound: true,
  });
  expect(commitFilterOf({ path: '/plan/*/status', last: '5' }, now)).toEqual({
    path: '/plan/*/status',
    last: { turns: 5 },
  });
  expect(commitFilterOf({ turns: '2-' }, now)).toEqual({ turns: { from: 2 } });
  expect(commitFilterOf({ all: true, 'include-rewound': true }, now)).toEqual({ includeRewound: true });
});

test('any commit option makes log list commits instead of events', () => {
  expect(asksForCommits({})).toBe(false);
  expect(asksForCommits({ commits: true })).toBe(true);
  expect(asksForCommits({ since: '7d' })).toBe(true);
  expect(asksForCommits({ tool: '' })).toBe(true);
});

test('[CLI1] options that exclude each other and invalid values are reported as wrong calls', () => {
  const wrong = [
    [{ path: '/facts', file: 'a' }, /leave out one/],
    [{ path: 'facts/port' }, /JSON Pointer/],
    [{ path: '' }, /JSON Pointer/],
    [{ provenance: 'sure' }, /--provenance is unverified, imported/],
    [{ turns: '1-2', last: '3' }, /leave out --turns/],
    [{ last: '0' }, /--last is a whole number/],
    [{ all: true, last: '3' }, /--last is about one session/],
    [{ all: true, turns: '1-2' }, /--turns is about one session/],
    [{ path: '/**/status' }, /for everything below/],
    [{ path: '/fact/a' }, /no such part/],
  ] as const;
  for (const [options, message] of wrong) expect(() => commitFilterOf(options, now)).toThrow(message);
});
