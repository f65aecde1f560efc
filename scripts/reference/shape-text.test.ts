import { expect, test } from 'vitest';
import { z } from 'zod';
import { SessionId } from '../../src/schema/ids.ts';
import { Json } from '../../src/schema/json.ts';
import { namesIn, type Schema, shapeText } from './shape-text.ts';

const textOf = (type: z.ZodType): string =>
  shapeText(z.toJSONSchema(type, { io: 'output', unrepresentable: 'any' }) as Schema);

test.each([
  [z.string(), 'string'],
  [z.int(), 'number'],
  [z.literal(true), 'true'],
  [z.null(), 'null'],
  [SessionId, 'ses_…'],
  [Json, 'Json'],
  [z.enum(['a', 'b']), "'a' | 'b'"],
  [z.array(z.enum(['a', 'b'])), "('a' | 'b')[]"],
  [z.record(z.string(), z.number()), 'Record<string, number>'],
  [z.strictObject({}), '{}'],
  [z.looseObject({}), 'Record<string, Json>'],
  [z.strictObject({ a: z.string(), 'b-c': z.boolean().optional() }), "{ a: string; 'b-c'?: boolean }"],
  [z.tuple([z.string(), z.int()]), '[string, number]'],
])('a short shape is on one line: %#', (type, text) => {
  expect(textOf(type)).toBe(text);
});

test('a long or documented shape takes one line for each field and alternative', () => {
  const long = (kind: string) => z.strictObject({ kind: z.literal(kind), [`aRatherLongNameOf${kind}`]: z.string() });
  const both = z.union([long('one'), long('two')]);
  expect(textOf(z.strictObject({ id: z.string().describe('Its name.'), either: z.array(both) }))).toBe(
    [
      '{',
      '  id: string; // Its name.',
      '  either: (',
      "    | { kind: 'one'; aRatherLongNameOfone: string }",
      "    | { kind: 'two'; aRatherLongNameOftwo: string }",
      '  )[];',
      '}',
    ].join('\n'),
  );
});

test('a named shape is shown by its name', () => {
  const schema = { type: 'array', items: { $ref: '#/components/schemas/Session' } };
  expect(shapeText(schema)).toBe('Session[]');
  expect(namesIn([schema, schema])).toEqual(['Session']);
});
