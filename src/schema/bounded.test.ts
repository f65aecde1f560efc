import { expect, test } from 'vitest';
import { z } from 'zod';
import { unbounded } from '../../test/support/stores/unbounded.ts';
import { bounded, listOf } from './bounded.ts';
import { isPerdureError } from './error.ts';
import { eventDefinitions } from './event.ts';
import { Message } from './message.ts';
import { parseInput } from './parse-input.ts';

const refusalOf = (schema: z.ZodType, input: unknown): readonly string[] => {
  try {
    parseInput('it', schema, input);
    return [];
  } catch (error) {
    if (!isPerdureError(error, 'INVALID_INPUT')) throw error;
    const issues = error.details.issues as readonly { path: string; message: string }[];
    return issues.map(({ path, message }) => `${path}: ${message}`);
  }
};

const Numbers = z.strictObject({ list: listOf(z.number(), { min: 1, max: 1000 }) });
const Names = z.strictObject({ record: bounded(z.record(z.string().max(10), z.number())) });
const repeated = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);
const fields = (count: number, value: unknown) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`name-${at}`, value]));
const wrong = 'Invalid input: expected number, received string';

test.for([0, 1, 20, 21, 1000])(
  '[IN6] a list of %i valid entries passes unchanged unless it exceeds the maximum',
  (count) => {
    const given = { list: [...repeated(count, 1), 2] };
    expect(refusalOf(Numbers, given)).toEqual(
      count === 1000 ? ['list: Too big: expected array to have <=1000 items'] : [],
    );
    if (count < 1000) expect(parseInput('it', Numbers, given)).toEqual(given);
  },
);

test('[IN6] a non-list, a missing list and a list with too few entries get the usual schema errors', () => {
  expect(refusalOf(Numbers, {})).toEqual(['list: Invalid input: expected array, received undefined']);
  expect(refusalOf(Numbers, { list: 'x' })).toEqual(['list: Invalid input: expected array, received string']);
  expect(refusalOf(Numbers, { list: [] })).toEqual(['list: Too small: expected array to have >=1 items']);
});

test('[IN6] a short list reports every invalid entry, a long list the first five, each with its index', () => {
  const short = refusalOf(Numbers, { list: repeated(20, 'x') });
  expect(short).toEqual(Array.from({ length: 20 }, (_, at) => `list.${at}: ${wrong}`));
  const long = refusalOf(Numbers, { list: [...repeated(500, 1), ...repeated(500, 'x')] });
  expect(long).toEqual([500, 501, 502, 503, 504].map((at) => `list.${at}: ${wrong}`));
});

test('[IN6] a record with many entries reports only the first invalid ones', () => {
  expect(parseInput('it', Names, { record: fields(100, 1) })).toEqual({ record: fields(100, 1) });
  expect(refusalOf(Names, { record: fields(2, 'x') })).toHaveLength(2);
  expect(refusalOf(Names, { record: fields(100, 'x') })).toHaveLength(5);
  expect(refusalOf(Names, {})).toEqual(['record: Invalid input: expected record, received undefined']);
});

test('[IN6] a list that is too long is rejected without reading its entries', () => {
  const untouched = new Proxy(repeated(1001, 1), {
    get: (target, name) => {
      if (/^\d+$/.test(String(name))) throw new Error(`entry ${String(name)} was read`);
      return Reflect.get(target, name);
    },
  });
  expect(refusalOf(Numbers, { list: untouched })).toEqual(['list: Too big: expected array to have <=1000 items']);
});

test('[IN6] the error stays short when an input has many unknown fields with long names', () => {
  const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`${'n'.repeat(500)}${at}`, 1]));
  const [problem, ...rest] = refusalOf(z.strictObject({}), unknown);
  expect(rest).toEqual([]);
  expect(problem!.length).toBeLessThan(400);
});

test('[IN6] every list and record in events and messages is bounded', () => {
  const found = Object.entries(eventDefinitions).flatMap(([type, { payload }]) => unbounded(payload, type));
  expect([...found, ...unbounded(Message, 'message')]).toEqual([]);
  expect(unbounded(z.strictObject({ list: z.array(z.string()).optional() }), 'it')).toEqual(['it.list']);
});
