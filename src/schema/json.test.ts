import { describe, expect, test } from 'vitest';
import { Json, Metadata, Text } from './json.ts';

const nested = (levels: number): unknown => {
  let value: unknown = 1;
  for (let i = 0; i < levels; i++) value = i % 2 ? { a: value } : [value];
  return value;
};

/** The first problem of a value, or undefined if the value is valid. */
const problemOf = (value: unknown): { readonly path: string; readonly message: string } | undefined => {
  const [issue] = Json.safeParse(value).error?.issues ?? [];
  return issue && { path: issue.path.join('.'), message: issue.message };
};

describe('JSON and text', () => {
  test('[IN1] JSON passes unchanged', () => {
    const values = [null, true, 0, -1.5, 1e300, '', 'Grüße ☃ 𝄞', [], {}, { a: [1, { b: null }] }, nested(100)];
    for (const value of values) expect(Json.parse(value)).toEqual(value);
    const bare = Object.assign(Object.create(null), { a: 1 });
    expect(Json.safeParse(bare).success).toBe(true);
    const odd = JSON.parse('{"constructor":1,"toString":2}');
    expect(JSON.stringify(Json.parse(odd))).toBe(JSON.stringify(odd));
    expect(problemOf(JSON.parse('{"a":[{"__proto__":{"polluted":true}}]}'))).toMatchObject({ path: 'a.0.__proto__' });
  });

  test('[IN1] U+0000 in a value or a key is rejected, and the error names the path', () => {
    expect(problemOf({ a: ['x', { b: 'y\u0000' }] })).toMatchObject({ path: 'a.1.b' });
    expect(problemOf({ a: { 'k\u0000': 1 } })?.message).toContain('U+0000');
    expect(problemOf('\u0000')).toMatchObject({ path: '' });
  });

  test('[IN1] a lone surrogate is rejected, a surrogate pair is accepted', () => {
    for (const lone of ['\ud800', 'a\udc00b', '\udc00\ud800']) {
      expect(problemOf([lone])).toMatchObject({ path: '0', message: expect.stringContaining('lone surrogate') });
      expect(problemOf({ [lone]: 1 })?.message).toContain('lone surrogate');
    }
    expect(problemOf('\ud834\udd1e')).toBeUndefined();
  });

  test('[IN1] NaN and infinities are rejected', () => {
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
      expect(problemOf({ a: number })).toEqual({ path: 'a', message: `${number} is not a JSON number` });
    }
  });

  test('[IN1] values that are not JSON are rejected', () => {
    const values = [
      undefined,
      1n,
      () => 1,
      Symbol('s'),
      new Date(),
      new Map(),
      /x/,
      new Uint8Array(1),
      new (class A {})(),
    ];
    for (const value of values) expect(problemOf({ a: value }), String(value)).toMatchObject({ path: 'a' });
    // biome-ignore lint/suspicious/noSparseArray: a hole is the case
    expect(problemOf([1, , 2])).toMatchObject({ path: '1' });
  });

  test('[IN1] nesting over 100 levels is rejected, also in a value that contains itself', () => {
    expect(problemOf(nested(100))).toBeUndefined();
    expect(problemOf(nested(101))?.message).toBe('nested deeper than 100 levels');
    expect(problemOf(nested(100_000))?.message).toBe('nested deeper than 100 levels');
    const endless: unknown[] = [];
    endless.push(endless);
    expect(problemOf(endless)?.message).toBe('nested deeper than 100 levels');
  });

  test('[IN1] text follows the same rules as JSON', () => {
    expect(Text.parse('Grüße ☃ 𝄞\n\t')).toBe('Grüße ☃ 𝄞\n\t');
    for (const bad of ['a\u0000', '\ud800', 7, null]) expect(Text.safeParse(bad).success).toBe(false);
  });

  test('[IN1] metadata keeps every key, or is rejected as a whole', () => {
    const metadata = { plain: 1, 'with space': [true], constructor: 'x' };
    expect(Metadata.parse(metadata)).toEqual(metadata);
    for (const bad of [[], 'x', null, { a: undefined }, { ['k'.repeat(201)]: 1 }, { 'k\u0000': 1 }]) {
      expect(Metadata.safeParse(bad).success, JSON.stringify(bad)).toBe(false);
    }
    const endless: Record<string, unknown> = {};
    endless.itself = endless;
    for (const bad of [{ a: 1n }, { a: { b: [1n] } }, endless, { a: () => 1 }]) {
      expect(Metadata.safeParse(bad).error?.issues[0]?.path[0]).toBe(Object.keys(bad)[0]);
    }
    const hostile = Metadata.safeParse(JSON.parse('{"__proto__":1,"a":2}'));
    expect(hostile.error?.issues[0]).toMatchObject({ path: ['__proto__'] });
    expect(Metadata.safeParse({ large: 'x'.repeat(17_000) }).error?.issues[0]?.message).toContain('16384');
  });
});
