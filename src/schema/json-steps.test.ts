import fc from 'fast-check';
import { expect, test } from 'vitest';
import { jsonSteps } from './json-steps.ts';

const long = 'x'.repeat(40_000);

test('the pieces of a value are together what JSON.stringify returns', () => {
  const values = [
    (value: unknown) => value,
    (value: unknown) => ({ value, long, list: [long, value, [long, { value, long }]] }),
  ];
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      for (const made of values.map((make) => make(value)))
        expect([...jsonSteps(made)].join('')).toBe(JSON.stringify(made));
    }),
    { numRuns: 50 },
  );
  const odd = {
    list: [undefined, () => 1, Number.NaN, long],
    none: undefined,
    call: () => 1,
    at: new Date(0),
    deep: [[[[long, [long]]]]],
    many: { a: undefined, b: () => long },
  };
  expect([...jsonSteps(odd)].join('')).toBe(JSON.stringify(odd));
  expect([...jsonSteps(undefined)].join('')).toBe('null');
});

test('the pieces of a large record are small, and a small value is one piece', () => {
  const facts = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`fact-${at}`, { text: 'x'.repeat(100) }]));
  const pieces = [...jsonSteps({ state: { facts } })];
  expect(pieces.length).toBeGreaterThan(1000);
  for (const piece of pieces) expect(piece.length).toBeLessThan(200);
  expect([...jsonSteps({ facts: { a: 1 }, list: [1, 2, 3] })]).toHaveLength(1);
});
