import fc from 'fast-check';
import { expect, test } from 'vitest';
import { newId } from './ids.ts';
import { Message, toolOutcomes } from './message.ts';
import { isPlainMessage } from './plain-message.ts';

/** Mostly valid values, with an invalid one now and then. */
const or = (right: fc.Arbitrary<unknown>, ...wrong: readonly unknown[]): fc.Arbitrary<unknown> =>
  fc.oneof({ arbitrary: right, weight: 30 }, { arbitrary: fc.constantFrom(...wrong), weight: 1 });

const text = or(fc.string(), undefined, null, 7, 'a\u0000', '\ud800');
const name = or(fc.string({ minLength: 1, maxLength: 5 }), '', 'x'.repeat(201), 'x'.repeat(200), 7, '\ud800');
const json = or(fc.jsonValue(), undefined, '\u0000', JSON.parse('{"__proto__":1}'), { a: '\ud800' });
const extra = or(fc.constant(undefined), 'provider', 'provider', 'colour', '__proto__') as fc.Arbitrary<
  string | undefined
>;
const withExtra = (part: fc.Arbitrary<object>): fc.Arbitrary<unknown> =>
  fc.tuple(part, extra, json).map(([fields, more, value]) => {
    if (!more) return fields;
    const whole = { ...fields };
    return Object.defineProperty(whole, more, { value, enumerable: true, configurable: true, writable: true });
  });
const said = withExtra(fc.record({ type: fc.constantFrom('text', 'text', 'text', 'reasoning'), text }));
const call = withExtra(fc.record({ type: fc.constant('tool-call'), callId: name, tool: name, input: json }));
const outcome = or(fc.constantFrom(...toolOutcomes), 'fine', undefined);
const result = withExtra(
  fc.record({ type: fc.constant('tool-result'), callId: name, tool: name, outcome, output: json }),
);
const file = { type: 'file', mediaType: 'text/plain', data: 'aGk=' };
const parts = (...kinds: readonly fc.Arbitrary<unknown>[]): fc.Arbitrary<unknown> =>
  or(
    fc.array(or(fc.oneof(...kinds), null, [], 'text', { type: 'smell' }, file), { maxLength: 3 }),
    'text',
    undefined,
    {},
  );
const id = or(
  fc.constant(undefined).map(() => newId('msg')),
  'msg_1',
  undefined,
  newId('ses'),
);
const content = { user: parts(said), assistant: parts(said, call), tool: parts(result), judge: parts(said, result) };
const message = fc
  .constantFrom('system' as const, 'user' as const, 'assistant' as const, 'tool' as const, 'judge' as const)
  .chain((role) =>
    withExtra(fc.record({ id, role: fc.constant(role), content: content[role === 'system' ? 'user' : role] })),
  );

test('[EV3] every message that the fast check accepts is also accepted unchanged by the schema', () => {
  let [plain, valid] = [0, 0];
  fc.assert(
    fc.property(fc.oneof(message, fc.anything()), (value) => {
      const parsed = Message.safeParse(value);
      valid += Number(parsed.success);
      if (!isPlainMessage(value)) return;
      plain += 1;
      expect(parsed.success).toBe(true);
      expect(parsed.data).toEqual(value);
    }),
    { numRuns: 20_000 },
  );
  expect(plain).toBeGreaterThan(500);
  expect(valid).toBeGreaterThan(plain);
});

test('[EV3] the fast check accepts ordinary messages and leaves files and repeated call ids to the schema', () => {
  const id = newId('msg');
  const call = { type: 'tool-call', callId: 'a', tool: 'read', input: { path: 'x' } };
  const result = { type: 'tool-result', callId: 'a', tool: 'read', outcome: 'ok', output: 'text' };
  expect(isPlainMessage({ id, role: 'user', content: [{ type: 'text', text: 'hello' }] })).toBe(true);
  expect(
    isPlainMessage({ id, role: 'assistant', content: [{ type: 'reasoning', text: '', provider: {} }, call] }),
  ).toBe(true);
  expect(isPlainMessage({ id, role: 'assistant', content: [] })).toBe(true);
  expect(isPlainMessage({ id, role: 'tool', content: [result] })).toBe(true);
  expect(isPlainMessage({ id, role: 'assistant', content: [call, call] })).toBe(false);
  expect(isPlainMessage({ id, role: 'user', content: [{ type: 'file', mediaType: 'text/plain', data: 'aGk=' }] })).toBe(
    false,
  );
});
