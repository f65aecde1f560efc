import { expect, test } from 'vitest';
import { z } from 'zod';
import { isPerdureError } from './error.ts';
import { parseInput } from './parse-input.ts';

const Part = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text'), text: z.string() }),
  z.strictObject({ type: z.literal('file'), data: z.base64() }),
]);
const Shape = z.union([
  z.strictObject({ kind: z.literal('circle'), radius: z.number() }),
  z.strictObject({ kind: z.literal('box'), sides: z.union([z.number(), z.array(z.number())]) }),
]);
const Status = z.enum(['open', 'closed']);
const Body = z.strictObject({
  input: z.union([z.string(), z.array(Part).min(1)]).optional(),
  shape: Shape.optional(),
  status: z.union([Status, z.array(Status)]).optional(),
  point: z.union([z.strictObject({ seq: z.int() }), z.strictObject({ turn: z.int() })], 'expected a point').optional(),
});

const issuesOf = (input: unknown) => {
  try {
    return parseInput('the body', Body, input);
  } catch (error) {
    if (!isPerdureError(error, 'INVALID_INPUT')) throw error;
    return (error.details.issues as readonly { path: string; message: string }[]).map(
      ({ path, message }) => `${path}: ${message}`,
    );
  }
};

test.each([
  [
    { input: [{ type: 'text', txt: 'x' }] },
    ['input.0.text: Invalid input: expected string, received undefined', 'input.0: Unrecognized key: "txt"'],
  ],
  [{ input: [{ type: 'txt' }] }, [`input.0.type: Invalid discriminator value. Expected 'text' | 'file'`]],
  [{ input: [] }, ['input: Too small: expected array to have >=1 items']],
  [{ input: 5 }, ['input: Invalid input: expected string, received number']],
  [{ shape: { kind: 'box', sides: [1, 'x'] } }, ['shape.sides.1: Invalid input: expected number, received string']],
  [{ shape: { kind: 'circle', radius: 1, colour: 'red' } }, ['shape: Unrecognized key: "colour"']],
  [
    { status: ['opened', 'shut'] },
    ['status.0', 'status.1'].map((at) => `${at}: Invalid option: expected one of "open"|"closed"`),
  ],
  [{ point: { seq: 'x' } }, ['point: expected a point']],
])('[IN7] a problem inside a union is reported with its path: %j', (input, issues) => {
  expect(issuesOf(input)).toEqual(issues);
});
