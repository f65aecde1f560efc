import { expect, test } from 'vitest';
import type { CommitRecord } from '../../core/session/state/commit-record.ts';
import type { Actor, SessionId } from '../../schema/ids.ts';
import type { Context } from '../parse/command.ts';
import { displayWidth } from '../terminal/display-width.ts';
import { commitGist, commitTable } from './commit-table.ts';

const commit = (more: Partial<CommitRecord> = {}): CommitRecord => ({
  session: 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a' as SessionId,
  seq: 1234,
  turn: 56,
  at: 0,
  actor: 'member:local' as Actor,
  delta: [
    { op: 'replace', path: '/toolsUsed/edit/calls', value: 2 },
    { op: 'add', path: '/filesModified/src~1auth.ts', value: { change: 'created' } },
    { op: 'remove', path: '/facts/port' },
  ],
  inverse: [],
  provenance: 'unverified',
  entries: ['/toolsUsed/edit', '/filesModified/src~1auth.ts', '/facts/port'],
  ...more,
});

const contextOf = (columns: number): Context =>
  ({
    now: () => 3 * 86_400_000,
    out: {
      isTerminal: Number.isFinite(columns),
      columns,
      write: async () => {},
      style: (_: unknown, text: string) => text,
    },
  }) as unknown as Context;

test('[CLI1] a commit is shown as its changed entries, tool counters last, and its reason', () => {
  expect(commitGist(commit({ why: 'as\nasked' }))).toBe(
    '+/filesModified/src~1auth.ts -/facts/port ~/toolsUsed/edit: as asked',
  );
  expect(commitGist(commit({ outputSummary: '3 bytes' }))).toMatch(/: 3 bytes$/);
  const lift = { origin: { kind: 'lift' as const, paths: ['/facts/a'] }, entries: ['/facts/a'], why: 'checked' };
  expect(commitGist(commit(lift))).toBe('^/facts/a: checked');
});

test('[CLI1, PROV3, PROV6] a commit shows every provenance of its entries, and none of bookkeeping', () => {
  const entries = ['/facts/host', '/facts/port', '/toolsUsed/edit'];
  const [, line] = commitTable(
    [commit({ entries, provenance: 'human', entryProvenance: { '/facts/port': 'unverified' } })],
    contextOf(Number.POSITIVE_INFINITY),
    { withSession: false },
  );
  expect(line).toContain('  human, unverified  ');
  const counted = commit({ entries: ['/toolsUsed/edit'], provenance: undefined });
  const [, plain] = commitTable([counted], contextOf(Number.POSITIVE_INFINITY), { withSession: false });
  expect(plain).not.toMatch(/unverified|human|undefined/);
});

test('[CLI1] a table of commits fits 80 columns, with and without the session', () => {
  const hostile = 'x\u001b[2J\u202ey';
  const commits = [
    commit({ cause: { tool: `edit${'x'.repeat(100)}`, callId: 'c1' } }),
    commit({ why: hostile.repeat(40) }),
  ];
  for (const withSession of [true, false]) {
    const lines = commitTable(commits, contextOf(80), { withSession });
    expect(lines.filter((line) => !/left out|only their end/.test(line))).toHaveLength(3);
    for (const line of lines) {
      expect(displayWidth(line), line).toBeLessThanOrEqual(80);
      expect(line).not.toMatch(/[\p{Cc}\u202e]/u);
    }
    expect(lines[1]).toMatch(/47 h|3 d/);
    expect(lines[1]).toContain('tool:edit');
    expect(lines[1]).toMatch(withSession ? /^6r8t0y1a {2}/ : /^1234/);
  }
});

test('[CLI1] a pipe gets the full text without truncation', () => {
  const [, line] = commitTable([commit({ why: 'asked' })], contextOf(Number.POSITIVE_INFINITY), { withSession: true });
  expect(line).toBe(
    'ses_01jd3v8m9k5x7q2w4e6r8t0y1a  1234  1970-01-01T00:00:00.000Z    56  member:local  unverified  +/filesModified/src~1auth.ts -/facts/port ~/toolsUsed/edit: asked',
  );
});

const edits = ['limiter.js', 'counts.js', 'src~1servers~1http~1routes~1registry.ts'].map((name) =>
  commit({
    cause: { tool: 'edit', callId: 'c1' },
    entries: ['/facts/port', '/toolsUsed/edit', `/filesModified/${name}`],
    delta: [],
    why: 'as asked',
  }),
);

test('[CLI14] entries that match the query come first and stay visible at every width', () => {
  const linesAt = (columns: number, withSession = false) =>
    commitTable(edits, contextOf(columns), { withSession, path: '/filesModified/**' });
  for (const columns of [40, 60, 80, 120]) {
    for (const withSession of [true, false]) {
      const lines = linesAt(columns, withSession);
      for (const line of lines) expect(displayWidth(line), line).toBeLessThanOrEqual(columns);
      for (const [index, name] of ['limiter.js', 'counts.js', 'registry.ts'].entries()) {
        expect(lines[index + 1], String(columns)).toContain(name);
      }
    }
  }
  expect(linesAt(40).slice(0, 3)).toEqual([
    'TURN  CHANGED',
    '  56  ~/filesModified/limiter.js, 2 more',
    '  56  ~/filesModified/counts.js, 2 more',
  ]);
  expect(linesAt(80)[1]).toContain('tool:edit');
});

test('[CLI14] an entry that is too long shows its end and how many more there are', () => {
  const [, line] = commitTable([commit({ entries: edits[2]!.entries })], contextOf(40), {
    withSession: false,
    path: '/filesModified/**',
  });
  expect(line).toMatch(/^ {2}56 {2}~….*registry\.ts, 2 more$/);
});

test('[CLI1] a table can hold any number of commits', () => {
  const commits = Array.from({ length: 130_000 }, () => commit());
  expect(commitTable(commits, contextOf(Number.POSITIVE_INFINITY), { withSession: false })).toHaveLength(130_001);
});
