import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Json } from '../../../schema/json.ts';
import { clippedJson } from './clipped-json.ts';

test('[STWAIT4] the clipped JSON of a value is the beginning of its JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 2, max: 60 }), (value, max) => {
      const [whole, text] = [JSON.stringify(value), clippedJson(value as Json, max)];
      expect(text.length).toBeLessThanOrEqual(max);
      if (whole.length <= max) expect(text).toBe(whole);
      else expect(whole.startsWith(text.slice(0, -1))).toBe(true);
    }),
  );
});

test('[STWAIT4] a huge value is not read to its end', () => {
  const huge = new Proxy<Record<string, Json>>(
    Object.fromEntries(Array.from({ length: 1000 }, (_, n) => [`k${n}`, n])),
    {
      get: (target, name) => {
        if (name === 'k500') throw new Error('read too far');
        return Reflect.get(target, name);
      },
    },
  );
  expect(clippedJson(huge, 20)).toBe('{"k0":0,"k1":1,"k2"…');
});
