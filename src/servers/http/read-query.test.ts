import { expect, test } from 'vitest';
import { z } from 'zod';
import { readQuery } from './read-query.ts';

const shape = { session: z.array(z.string()).optional(), limit: z.string().optional() };
const read = (query: string) => readQuery(new URL(`http://localhost/?${query}`), shape);
const times = (count: number, parameter: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => parameter(at)).join('&');

test('[HTTP1] a query parses into strings, and into lists in order where the schema expects lists', () => {
  expect(read('session=b&limit=1&session=a')).toEqual({ session: ['b', 'a'], limit: '1' });
  expect(read('')).toEqual({});
  expect(read(times(100, (at) => `session=${at}`)).session).toHaveLength(100);
});

test('[HTTP25] a query of more than 150 parameters is refused before they are parsed', () => {
  const flood = () => read(times(4000, String));
  expect(flood).toThrow(
    expect.objectContaining({ code: 'INVALID_INPUT', message: 'the query has more than 150 parameters' }),
  );
});

test('[HTTP11] a parameter given too often is refused with a short message, however long its name', () => {
  const name = 'x'.repeat(10_000);
  for (const query of [`${name}&${name}`, times(101, () => 'session=a')]) {
    expect(() => read(query)).toThrow(
      expect.objectContaining({ code: 'INVALID_INPUT', message: expect.stringMatching(/^.{1,400}$/) }),
    );
  }
});
