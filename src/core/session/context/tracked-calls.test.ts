import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../schema/ids.ts';
import type { Message } from '../../../schema/message.ts';
import { type ContextEntry, pairCalls } from './context-units.ts';
import { joinTracked, type TrackedCall } from './tracked-calls.ts';

const said = (text: string): Message => ({ id: newId('msg'), role: 'user', content: [{ type: 'text', text }] });
const asks = (callId: string, order = 'A1', tool = 'refund'): Message => ({
  id: newId('msg'),
  role: 'assistant',
  content: [{ type: 'tool-call', callId, tool, input: { order } }],
});
const brings = (callId: string, output: string, outcome: 'ok' | 'interrupted' = 'ok'): Message => ({
  id: newId('msg'),
  role: 'tool',
  content: [{ type: 'tool-result', callId, tool: 'refund', outcome, output }],
});
const runs = (callId: string, output: string | undefined, order = 'A1') => ({
  callId,
  tool: 'refund',
  input: { order },
  shownAs: newId('msg'),
  ...(output !== undefined && { output }),
});

/** Numbers the steps of a log. A user message opens a turn. */
const shownBy = (steps: readonly (Message | ReturnType<typeof runs>)[]) => {
  const entries: ContextEntry[] = [];
  const calls: TrackedCall[] = [];
  let turn = 0;
  for (const [index, step] of steps.entries()) {
    const seq = index * 2 + 1;
    if ('role' in step && step.role === 'user') turn += 1;
    if ('role' in step) {
      entries.push({ seq, turn, message: step });
    } else {
      const { output, ...call } = step;
      const end = output === undefined ? undefined : { seq: seq + 1, outcome: 'ok' as const, output };
      calls.push({ ...call, seq, turn, end });
    }
  }
  const messages = pairCalls(joinTracked(entries, calls)).flatMap((unit) => unit.messages);
  return messages.flatMap((message) => {
    if (message.role === 'user') return ['user'];
    return message.content.map((part) => {
      if (part.type === 'tool-call') return `call ${part.callId}`;
      return part.type === 'tool-result' ? `${part.callId}: ${String(part.output).slice(0, 20)}` : part.type;
    });
  });
};
const unknown = 'The call was interru';
const lost = 'No result was record';
const made = newId('call');

describe('tracked calls in a context', () => {
  test.each([
    ['with its result', [said('go'), runs('c', 'paid')], ['user', 'call c', 'c: paid']],
    ['with an unknown outcome', [said('go'), runs('c', undefined)], ['user', 'call c', `c: ${unknown}`]],
    [
      'in its place',
      [said('go'), runs('c', 'paid'), said('and?'), asks('d'), brings('d', 'ok')],
      ['user', 'call c', 'c: paid', 'user', 'call d', 'd: ok'],
    ],
    [
      'between a call and its result',
      [said('go'), asks('a'), runs('c', 'paid'), brings('a', 'ok')],
      ['user', 'call a', 'a: ok', 'call c', 'c: paid'],
    ],
  ] as const)('[LOOP1] a call that no message asks for is shown %s', (_, steps, shown) => {
    expect(shownBy(steps)).toEqual(shown);
  });

  test.each([
    ['before the call', [said('go'), asks('c'), runs('c', 'paid')], ['user', 'call c', 'c: paid']],
    ['after the call', [said('go'), runs('c', 'paid'), asks('c')], ['user', 'call c', 'c: paid']],
    ['with its result', [said('go'), runs('c', 'paid'), asks('c'), brings('c', 'own')], ['user', 'call c', 'c: own']],
    ['while it runs', [said('go'), asks('c'), runs('c', undefined)], ['user', 'call c', `c: ${unknown}`]],
    [
      'and was cut off by a fork',
      [said('go'), asks('c'), runs('c', 'paid'), brings('c', 'interrupted', 'interrupted')],
      ['user', 'call c', 'c: paid'],
    ],
    ['in a later turn', [said('go'), runs('c', 'paid'), said('?'), asks('c')], ['user', 'user', 'call c', 'c: paid']],
  ] as const)('[LOOP2] a call whose message is appended %s is shown once', (_, steps, shown) => {
    expect(shownBy(steps)).toEqual(shown);
  });

  test('[LOOP2] a call without an id of the loop is joined by tool and input within its turn', () => {
    expect(shownBy([said('go'), asks('t1'), runs(made, 'paid')])).toEqual(['user', 'call t1', 't1: paid']);
    expect(shownBy([said('go'), runs(made, 'paid'), asks('t1'), brings('t1', 'own')])).toEqual([
      'user',
      'call t1',
      't1: own',
    ]);
    expect(shownBy([said('go'), asks('t1', 'B2'), runs(made, 'paid')])).toEqual([
      'user',
      'call t1',
      `t1: ${lost}`,
      `call ${made}`,
      `${made}: paid`,
    ]);
    expect(shownBy([said('go'), runs(made, 'paid'), said('again'), asks('t1')])).toHaveLength(6);
    expect(shownBy([said('go'), runs('own-id', 'paid'), asks('t1')])).toHaveLength(5);
  });

  test('[LOOP2] two calls with the same tool and input stay two', () => {
    const [first, second] = [newId('call'), newId('call')];
    const steps = [said('go'), asks('t1'), runs(first, 'one'), brings('t1', 'one'), asks('t2'), runs(second, 'two')];
    expect(shownBy(steps)).toEqual(['user', 'call t1', 't1: one', 'call t2', 't2: two']);
    expect(shownBy([said('go'), runs(first, 'one'), runs(second, 'two')])).toHaveLength(5);
  });

  test('[LOOP2] an id that another turn uses again for another input names another call', () => {
    const steps = [said('go'), runs('c', 'paid'), said('more'), asks('c', 'B2')];
    expect(shownBy(steps)).toEqual(['user', 'call c', 'c: paid', 'user', 'call c', `c: ${lost}`]);
    const before = [said('go'), asks('c', 'B2'), said('more'), runs('c', 'paid')];
    expect(shownBy(before)).toEqual(['user', 'call c', `c: ${lost}`, 'user', 'call c', 'c: paid']);
  });

  test('[LOOP1, CTX3] in any log, every tracked call is shown, and every call has its own result after it', () => {
    const id = fc.constantFrom('a', 'b', made);
    const order = fc.constantFrom('A1', 'B2');
    const step = fc.oneof(
      fc.constant(said('go')),
      fc.tuple(id, order).map(([callId, given]) => asks(callId, given)),
      id.map((callId) => brings(callId, `appended ${callId}`)),
      fc
        .tuple(id, order, fc.nat())
        .map(([callId, given, paid]) => runs(callId, paid % 2 ? `${paid}` : undefined, given)),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
        const unique = steps.map((each) => ({ ...each }) as typeof each);
        const shown = shownBy(unique);
        const count = (pattern: RegExp) => shown.filter((line) => pattern.test(line)).length;
        const [tracked, asked] = [
          unique.filter((each) => !('role' in each)),
          unique.filter((each) => 'role' in each && each.role === 'assistant'),
        ];
        expect(count(/^call /)).toBe(count(/: /));
        expect(count(/^call /)).toBeGreaterThanOrEqual(Math.max(tracked.length, asked.length));
        expect(count(/^call /)).toBeLessThanOrEqual(tracked.length + asked.length);
        for (const [place, line] of shown.entries()) {
          if (line.startsWith('call ')) expect(shown[place + 1]).toMatch(new RegExp(`^${line.slice(5)}: `));
        }
      }),
    );
  });
});
