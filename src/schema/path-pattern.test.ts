import { expect, test } from 'vitest';
import { indexedPrefix, matchesPattern, PathPattern } from './path-pattern.ts';

test('[QRY7] a pattern matches its own path, its ancestors and its descendants', () => {
  const matching = [
    ['', '/facts/a'],
    ['/**', '/facts/a'],
    ['/facts', '/facts/a/b'],
    ['/facts/**', '/facts/a/b'],
    ['/plan/*/status', '/plan/a/status'],
    ['/plan/*/status', '/plan/a'],
    ['/filesModified/src~1*', '/filesModified/src~1a~1b.ts/change'],
    ['/filesModified/*.ts', '/filesModified/src~1a.ts'],
    ['/facts/a*b*c', '/facts/abbc'],
    ['/facts/*', '/facts/'],
  ] as const;
  const other = [
    ['/facts/a', '/facts/ab'],
    ['/facts/a', '/plan/a'],
    ['/plan/*/status', '/plan/a/order'],
    ['/filesModified/src~1*', '/filesModified/srcs~1a.ts'],
    ['/facts/ab*bc', '/facts/abc'],
    ['/facts/a*b*b', '/facts/ab'],
  ] as const;
  for (const [pattern, path] of matching) expect([pattern, path, matchesPattern(pattern, path)]).toContain(true);
  for (const [pattern, path] of other) expect([pattern, path, matchesPattern(pattern, path)]).toContain(false);
});

test('[QRY1] a pattern with many stars matches in linear time', () => {
  const pattern = `/facts/${'a*'.repeat(900)}b`;
  expect(matchesPattern(pattern, `/facts/${'a'.repeat(1900)}`)).toBe(false);
});

test('[QRY1] the index prefix is the part of the first two names before the first star', () => {
  const prefixes = [
    ['', '/'],
    ['/**', '/'],
    ['/facts', '/facts'],
    ['/facts/port/deep', '/facts/port'],
    ['/plan/*/status', '/plan'],
    ['/filesModified/src~1*', '/filesModified/src~1'],
    ['/files*', '/files'],
    ['/*/a', '/'],
  ] as const;
  for (const [pattern, prefix] of prefixes) expect([pattern, indexedPrefix(pattern)]).toEqual([pattern, prefix]);
});

test('[QRY7] a pattern that is malformed, misleading or unable to match is rejected', () => {
  for (const pattern of ['facts', '/**/status', '/facts/a**', '/facts/***', '/facts/a~2', '/facts/~', '/fact/a', '/']) {
    expect([pattern, PathPattern.safeParse(pattern).success]).toEqual([pattern, false]);
  }
  for (const pattern of ['', '/**', '/own/**', '/f*/a', '/facts/~0~1', '/facts/']) {
    expect([pattern, PathPattern.safeParse(pattern).success]).toEqual([pattern, true]);
  }
});
