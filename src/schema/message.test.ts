import { describe, expect, test } from 'vitest';
import { newId } from './ids.ts';
import { Message } from './message.ts';

const text = { type: 'text', text: 'hello' };
const reasoning = { type: 'reasoning', text: 'so' };
const file = { type: 'file', mediaType: 'image/png', name: 'a.png', data: 'AQID' };
const call = { type: 'tool-call', callId: 'call_1', tool: 'read', input: { path: 'a' } };
const result = { type: 'tool-result', callId: 'call_1', tool: 'read', outcome: 'ok', output: 'done' };

const id = newId('msg');
/** The path of the first problem, or undefined if the message is valid. */
const problemAt = (role: string, content: unknown): string | undefined =>
  Message.safeParse({ id, role, content }).error?.issues[0]?.path.join('.');

describe('a message', () => {
  test.each([
    ['system', [text]],
    ['user', [text, file]],
    ['assistant', []],
    ['assistant', [reasoning, text, file, call, { ...call, callId: 'call_2' }]],
    ['tool', [result, { ...result, callId: 'call_2' }]],
  ])('[IN1] with role %s accepts the parts that belong to that role, unchanged', (role, content) => {
    expect(Message.parse({ id, role, content })).toEqual({ id, role, content });
  });

  test.each([
    ['system', file],
    ['user', reasoning],
    ['user', call],
    ['user', result],
    ['assistant', result],
    ['tool', text],
  ])('[IN1] with role %s rejects a part that belongs to another role', (role, part) => {
    expect(problemAt(role, [part])).toBe('content.0.type');
  });

  test.each(['system', 'user', 'tool'])('[IN1] with role %s must not be empty', (role) => {
    expect(problemAt(role, [])).toBe('content');
  });

  test.each([
    ['system', text],
    ['user', text],
    ['assistant', text],
    ['tool', result],
  ])('[IN10] of the role %s has at most 10,000 parts', (role, part) => {
    const parts = (count: number) => Array.from({ length: count }, () => part);
    expect(problemAt(role, parts(10_000))).toBeUndefined();
    expect(problemAt(role, parts(10_001))).toBe('content');
  });

  test.each([
    ['user', text],
    ['user', file],
    ['assistant', reasoning],
    ['assistant', call],
    ['tool', result],
  ])('[IN1] with role %s rejects a part with an unknown field', (role, part) => {
    expect(problemAt(role, [{ ...part, extra: 1 }])).toBe('content.0');
    expect(problemAt(role, [{ ...part, provider: { signature: 'abc' } }])).toBeUndefined();
  });

  test.each([
    ['user', file, { mediaType: 'x'.repeat(200) }, { mediaType: 'x'.repeat(201) }],
    ['user', file, { name: 'x'.repeat(500) }, { name: 'x'.repeat(501) }],
    ['user', file, { data: 'AQIDBA==' }, { data: 'no base64!' }],
    ['assistant', call, { callId: 'x'.repeat(200) }, { callId: 'x'.repeat(201) }],
    ['assistant', call, { callId: 'x' }, { callId: '' }],
    ['assistant', call, { tool: 'x'.repeat(200) }, { tool: 'x'.repeat(201) }],
    ['assistant', call, { tool: 'x' }, { tool: '' }],
    ['tool', result, { tool: 'x'.repeat(200) }, { tool: 'x'.repeat(201) }],
    ['tool', result, { tool: 'x' }, { tool: '' }],
    ['tool', result, { outcome: 'denied' }, { outcome: 'failed' }],
  ])('[IN1] with role %s enforces the limits of its fields', (role, part, most, tooMuch) => {
    expect(problemAt(role, [{ ...part, ...most }])).toBeUndefined();
    expect(problemAt(role, [{ ...part, ...tooMuch }])).toBe(`content.0.${Object.keys(tooMuch)[0]}`);
  });

  test('[IN5] must not hold two calls with the same id, adjacent or not', () => {
    expect(problemAt('assistant', [call, text, { ...call, tool: 'write' }])).toBe('content.2.callId');
    expect(problemAt('assistant', [text, call, reasoning, { ...call, callId: 'call_2' }])).toBeUndefined();
  });
});
