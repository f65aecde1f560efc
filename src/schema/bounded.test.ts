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

test.for([0, 1, 20, 21, 1000])('[IN6] a list of %i right entries is taken as it is', (count) => {
  const given = { list: [...repeated(count, 1), 2] };
  expect(refusalOf(Numbers, given)).toEqual(
    count === 1000 ? ['list: Too big: expected array to have <=1000 items'] : [],
  );
  if (count < 1000) expect(parseInput('it', Numbers, given)).toEqual(given);
});

test('[IN6] a list is refused alike for what is no list, is missing or has too few entries', () => {
  expect(refusalOf(Numbers, {})).toEqual(['list: Invalid input: expected array, received undefined']);
  expect(refusalOf(Numbers, { list: 'x' })).toEqual(['list: Invalid input: expected array, received string']);
  expect(refusalOf(Numbers, { list: [] })).toEqual(['list: Too small: expected array to have >=1 items']);
});

test('[IN6] of a short list every wrong entry is told, of a long one the first five, by their places', () => {
  const short = refusalOf(Numbers, { list: repeated(20, 'x') });
  expect(short).toEqual(Array.from({ length: 20 }, (_, at) => `list.${at}: ${wrong}`));
  const long = refusalOf(Numbers, { list: [...repeated(500, 1), ...repeated(500, 'x')] });
  expect(long).toEqual([500, 501, 502, 503, 504].map((at) => `list.${at}: ${wrong}`));
});

test('[IN6] of a record with many entries the first wrong ones are told', () => {
  expect(parseInput('it', Names, { record: fields(100, 1) })).toEqual({ record: fields(100, 1) });
  expect(refusalOf(Names, { record: fields(2, 'x') })).toHaveLength(2);
  expect(refusalOf(Names, { record: fields(100, 'x') })).toHaveLength(5);
  expect(refusalOf(Names, {})).toEqual(['record: Invalid input: expected record, received undefined']);
});

test('[IN6] the entries of a list that is too long are not looked at', () => {
  const untouched = new Proxy(repeated(1001, 1), {
    get: (target, name) => {
      if (/^\d+$/.test(String(name))) throw new Error(`entry ${String(name)} was looked at`);
      return Reflect.get(target, name);
    },
  });
  expect(refusalOf(Numbers, { list: untouched })).toEqual(['list: Too big: expected array to have <=1000 items']);
});

test('[IN6] what is told of an input is short, however long its names and however many are unknown', () => {
  const unknown = Object.fromEntries(Array.from({ length: 10_000 }, (_, at) => [`${'n'.repeat(500)}${at}`, 1]));
  const [told, ...rest] = refusalOf(z.strictObject({}), unknown);
  expect(rest).toEqual([]);
  expect(told!.length).toBeLessThan(400);
});

test('[IN6] no event and no message is judged entry by entry without looking ahead', () => {
  const found = Object.entries(eventDefinitions).flatMap(([type, { payload }]) => unbounded(payload, type));
  expect([...found, ...unbounded(Message, 'message')]).toEqual([]);
  expect(unbounded(z.strictObject({ list: z.array(z.string()).optional() }), 'it')).toEqual(['it.list']);
});
