import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseIgnoreRules } from './ignore-rules.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'perdure-ignore-'));
  execFileSync('git', ['init', '-q', folder]);
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the paths that git ignores. The paths need not exist, and git treats them as files. */
const ignoredByGit = (rules: string, paths: readonly string[]): ReadonlySet<string> => {
  writeFileSync(join(folder, '.gitignore'), rules);
  const asked = { cwd: folder, input: paths.join('\0'), encoding: 'utf8' } as const;
  const { status, stdout } = spawnSync('git', ['check-ignore', '--no-index', '-z', '--stdin'], asked);
  if (status !== 0 && status !== 1) throw new Error(`git ended with ${status}`);
  return new Set(stdout.split('\0').filter(Boolean));
};

/** Decides in the same way as a scan: an ignored folder hides everything in it. */
const isIgnored = (rules: string, path: string): boolean => {
  const verdict = parseIgnoreRules(rules);
  const segments = path.split('/');
  return segments.some((_, index) => {
    const isFolder = index < segments.length - 1;
    return verdict(segments.slice(0, index + 1).join('/'), isFolder) === 'ignored';
  });
};

const name = fc.constantFrom('a', 'b', 'ab', 'a.log', 'b.txt', 'build', '.x', 'a b', '#a', '!a', 'a]', 'A');
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'));
const part = fc.constantFrom(
  'a',
  'b',
  'ab',
  '*',
  '**',
  '?',
  '*.log',
  'a*',
  '*b',
  'a*b',
  '[ab]',
  '[!a]',
  '[a-c]*',
  'build',
  '.x',
  '\\#a',
  '\\!a',
  'a b',
  'a\\ ',
  '\\*',
  'A',
  '[]]',
  '[^a]',
);
const line = fc
  .record({
    isKept: fc.boolean(),
    isAnchored: fc.boolean(),
    parts: fc.array(part, { minLength: 1, maxLength: 3 }),
    end: fc.constantFrom('', '', '/', ' ', '  ', '/**', '\r'),
  })
  .map(({ isKept, isAnchored, parts, end }) => `${isKept ? '!' : ''}${isAnchored ? '/' : ''}${parts.join('/')}${end}`);

test('[FILE5] ignore rules have the same meaning as in git', () => {
  fc.assert(
    fc.property(
      fc.array(line, { minLength: 1, maxLength: 4 }),
      fc.array(path, { minLength: 5, maxLength: 30 }),
      (lines, paths) => {
        const rules = `# a comment\n\n${lines.join('\n')}\n`;
        const byGit = ignoredByGit(rules, paths);
        expect(paths.filter((each) => isIgnored(rules, each))).toEqual(paths.filter((each) => byGit.has(each)));
      },
    ),
    { numRuns: Number(process.env.RUNS ?? 150) },
  );
});

test('[FILE5, FILE54] matching time stays bounded for hostile patterns', () => {
  const rules = parseIgnoreRules(`${'*a'.repeat(60)}b\n${'**/'.repeat(60)}b\n${'a*/'.repeat(40)}b`);
  const began = performance.now();
  for (const path of ['a'.repeat(255), Array(100).fill('a'.repeat(30)).join('/')]) rules(path, false);
  expect(performance.now() - began).toBeLessThan(2000);
});

test.each([
  ['too many stars', '*a'.repeat(17), 'a'.repeat(17)],
  ['too many characters', 'a'.repeat(1025), 'a'.repeat(1025)],
])('[IN6] a rule with %s is ignored, a shorter one is applied', (_, rule, path) => {
  expect(parseIgnoreRules(rule)(path, false)).toBeUndefined();
  const shorter = rule.startsWith('*') ? 2 : 1;
  expect(parseIgnoreRules(rule.slice(shorter))(path.slice(1), false)).toBe('ignored');
});

test('[IN6] many blanks in a rule are parsed in linear time', () => {
  const blanks = ' '.repeat(250_000);
  expect(parseIgnoreRules(`${blanks}x\na.txt${blanks}`)('a.txt', false)).toBe('ignored');
});

test('trailing white space in a rule is ignored unless a backslash precedes it', () => {
  const ignores = (rule: string, path: string) => parseIgnoreRules(rule)(path, false) === 'ignored';
  expect(ignores('a.txt \t ', 'a.txt')).toBe(true);
  expect(ignores('a.txt\\  ', 'a.txt ')).toBe(true);
  expect(ignores('a.txt\\  ', 'a.txt')).toBe(false);
});
