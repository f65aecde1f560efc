import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { newId } from '../../../schema/ids.ts';
import type { Message } from '../../../schema/message.ts';
import { clipResults } from './clip-results.ts';
import { assembleContext } from './context.ts';
import { type ContextEntry, estimateTokens, pairCalls, textTokens } from './context-units.ts';

const user = (text: string): Message => ({ id: newId('msg'), role: 'user', content: [{ type: 'text', text }] });
const answer = (text: string, ...calls: string[]): Message => ({
  id: newId('msg'),
  role: 'assistant',
  content: [
    { type: 'text', text },
    ...calls.map((callId) => ({ type: 'tool-call', callId, tool: 'read', input: {} }) as const),
  ],
});
const results = (...calls: string[]): Message => ({
  id: newId('msg'),
  role: 'tool',
  content: calls.map((callId) => ({ type: 'tool-result', callId, tool: 'read', outcome: 'ok', output: callId })),
});

/** Assigns seqs and turns to the messages. Each user message opens a turn. */
const entriesOf = (messages: readonly Message[]): ContextEntry[] => {
  let turn = 0;
  return messages.map((message, index) => {
    if (message.role === 'user') turn += 1;
    return { seq: index + 2, turn, message };
  });
};

const anyMessage = fc.oneof(
  fc.string({ maxLength: 200 }).map(user),
  fc
    .tuple(fc.string({ maxLength: 200 }), fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 3 }))
    .map(([text, calls]) => answer(text, ...new Set(calls))),
  fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { minLength: 1, maxLength: 3 }).map((calls) => results(...calls)),
);

/** The context, or undefined if the budget cannot hold the message that opens the newest turn. */
const contextWithin = (entries: readonly ContextEntry[], maxTokens: number) => {
  try {
    return assembleContext(entries, maxTokens);
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_INPUT' });
    const { turn } = entries.at(-1)!;
    const rest = entries.filter((entry) => entry.turn === turn);
    expect(assembleContext(rest, Number.POSITIVE_INFINITY).tokens).toBeGreaterThan(maxTokens);
    return undefined;
  }
};

describe('an assembled context', () => {
  test('[CTX3] holds exactly one result right after every call, even if the log lost or repeated some', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 40 }), fc.integer({ min: 1, max: 2000 }), (messages, maxTokens) => {
        const context = contextWithin(entriesOf(messages), maxTokens);
        if (!context) return;
        for (const [index, message] of context.messages.entries()) {
          if (message.role === 'tool') expect(context.messages[index - 1]?.role).toBe('assistant');
          if (message.role !== 'assistant') continue;
          const calls = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []));
          const next = context.messages[index + 1];
          const settled = next?.role === 'tool' ? next.content.map(({ callId }) => callId) : [];
          expect(settled).toEqual(calls);
        }
      }),
    );
  });

  test('[CTX2] fits its budget and begins with the first message of a turn', () => {
    fc.assert(
      fc.property(fc.array(anyMessage, { maxLength: 40 }), fc.integer({ min: 1, max: 2000 }), (rest, maxTokens) => {
        const entries = entriesOf([user('first'), ...rest]);
        const context = contextWithin(entries, maxTokens);
        if (!context) return;
        const opening = entries.find(({ seq }) => seq === context.from)!;
        expect(entries.find(({ turn }) => turn === opening.turn)).toBe(opening);
        const tokens = context.messages.reduce((sum, message) => sum + estimateTokens(message), 0);
        expect(context.tokens).toBe(textTokens(context.system) + tokens);
        expect(context.tokens).toBeLessThanOrEqual(maxTokens);
      }),
    );
  });

  test('[CTX2] keeps the first message and the end of a newest turn that exceeds the budget', () => {
    const long = 'x'.repeat(400);
    const entries = entriesOf([user('ask'), answer(long), answer(long), answer('last')]);
    const { messages, from } = assembleContext(entries, 40);
    expect(messages).toEqual([entries[0]!.message, entries[3]!.message]);
    expect(from).toBe(2);
  });

  test('[CTX9] cuts a result that is too long, names its call, and keeps the other calls of the turn', () => {
    const huge = results('b', 'c');
    huge.content.splice(0, 1, { ...huge.content[0], output: `start${'"😀\n'.repeat(125_000)}end` } as never);
    const entries = entriesOf([user('ask'), answer('', 'a'), results('a'), answer('', 'b', 'c'), huge]);
    for (const maxTokens of [1000, 20_000, 100_000]) {
      const { messages, tokens } = assembleContext(entries, maxTokens);
      expect(tokens).toBeLessThanOrEqual(maxTokens);
      expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'tool']);
      expect(messages[2]).toEqual(entries[2]!.message);
      const [cut, whole] = messages[4]!.content as unknown as { output: string }[];
      expect(cut!.output).toMatch(/^start.*\n/);
      expect(cut!.output).toMatch(
        /\n\[… \d+ of 500008 characters left out; recall "read in turn 1" for all of it …\]\n/,
      );
      expect(cut!.output.endsWith('\nend')).toBe(true);
      expect(cut!.output.isWellFormed()).toBe(true);
      expect(whole!.output).toBe('c');
    }
  });

  test('[CTX9] keeps short results whole and lets long ones share the remaining room', () => {
    const given = results('a', 'b', 'c', 'd');
    const outputs = ['x'.repeat(1000), 'x'.repeat(2000), 'x'.repeat(50_000), 'x'.repeat(90_000)];
    const content = given.content.map((part, index) => ({ ...part, output: outputs[index] }));
    const [unit] = pairCalls(entriesOf([answer('', 'a', 'b', 'c', 'd'), { ...given, content } as Message]));
    const clipped = clipResults(unit!, 5000);
    expect(clipped.tokens).toBeLessThanOrEqual(5000);
    expect(clipped.tokens).toBeGreaterThan(4500);
    const lengths = (clipped.messages[1]!.content as unknown as { output: string }[]).map(
      ({ output }) => output.length,
    );
    expect(lengths.slice(0, 2)).toEqual([1000, 2000]);
    expect(Math.abs(lengths[2]! - lengths[3]!)).toBeLessThan(10);
  });

  test('[CTX2] has a note for the model if a part of the newest turn is left out', () => {
    const turn = Array.from({ length: 50 }, (_, index) => answer(`step ${index} ${'x'.repeat(400)}`));
    const { system, messages } = assembleContext(entriesOf([user('before'), user('ask'), ...turn]), 2000);
    expect(system).toContain('recall turn:2');
    expect(messages.at(-1)).toBe(turn.at(-1));
    expect(messages.length).toBeGreaterThan(8);
    expect(assembleContext(entriesOf([user('ask'), ...turn]), 20_000).system).toBe('');
  });

  test('[CTX4, CTX15] moves the window in few large steps while a turn grows', () => {
    const before = Array.from({ length: 40 }, (_, index) => [
      user(`q${index} ${'x'.repeat(300)}`),
      answer('y'.repeat(300)),
    ]);
    const grown = [...before.flat(), user('now')];
    let moves = 0;
    let previous = assembleContext(entriesOf(grown), 4000).messages;
    expect(previous.length).toBeGreaterThan(30);
    const contextTokens = 4000;
    const steps = 200;
    for (let step = 0; step < steps; step++) {
      grown.push(answer('', `c${step}`), results(`c${step}`));
      const { messages, tokens } = assembleContext(entriesOf(grown), contextTokens);
      expect(tokens).toBeLessThanOrEqual(contextTokens);
      expect(messages.at(-1)).toEqual(grown.at(-1));
      const ids = messages.map(({ id }) => id);
      if (!previous.every(({ id }, place) => id === ids[place])) moves += 1;
      previous = messages;
    }
    const grownBy = grown.slice(-2 * steps).reduce((sum, message) => sum + estimateTokens(message), 0);
    expect(moves).toBeLessThanOrEqual(3 + Math.ceil(grownBy / (contextTokens / 2)));
    expect(moves).toBeGreaterThan(3);
  });

  test('[CTX2] keeps every turn that fits', () => {
    const entries = entriesOf([user('1'), answer('one'), user('2'), answer('two', 'a'), results('a')]);
    expect(assembleContext(entries, 10_000).messages).toHaveLength(5);
    expect(assembleContext([], 10_000)).toEqual({ system: '', messages: [], from: 0, tokens: 0, evicted: [] });
  });

  test('[CTX3] marks a call without a result as interrupted', () => {
    const { messages } = assembleContext(
      entriesOf([user('go'), answer('', 'a', 'b'), results('b'), user('and?')]),
      10_000,
    );
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(messages[2]!.content).toMatchObject([
      { callId: 'a', outcome: 'interrupted' },
      { callId: 'b', outcome: 'ok' },
    ]);
  });

  test('[CTX3] pairs each result with the nearest earlier call of the same id, one result per call', () => {
    const resultMessage = (output: string): Message => ({
      id: newId('msg'),
      role: 'tool',
      content: [{ type: 'tool-result', callId: 'a', tool: 'read', outcome: 'ok', output }],
    });
    const log = [
      user('go'),
      resultMessage('early'),
      answer('', 'a'),
      resultMessage('first'),
      answer('', 'a'),
      resultMessage('second'),
      answer('', 'a'),
    ];
    const { messages } = assembleContext(entriesOf(log), 10_000);
    const results = messages.flatMap(({ role, content }) => (role === 'tool' ? content : []));
    const twice = assembleContext(
      entriesOf([user('go'), answer('', 'a'), answer('', 'a'), resultMessage('only')]),
      10_000,
    );
    expect(twice.messages.flatMap(({ role, content }) => (role === 'tool' ? content : []))).toMatchObject([
      { output: 'only' },
      { outcome: 'interrupted' },
    ]);
    expect(results).toMatchObject([{ output: 'first' }, { output: 'second' }, { outcome: 'interrupted' }]);
  });

  test('[IN9] estimates the tokens of a file by its kind, not only by its bytes', () => {
    const tokensOf = (mediaType: string, bytes: number) =>
      estimateTokens({
        id: newId('msg'),
        role: 'user',
        content: [{ type: 'file', mediaType, data: Buffer.alloc(bytes).toString('base64') }],
      });
    for (const [mediaType, added] of [
      ['image/png', 0],
      ['application/pdf', 300_000 / 16],
      ['text/plain', 300_000 / 4],
      ['application/zip', 0],
    ] as const) {
      expect(tokensOf(mediaType, 303_000) - tokensOf(mediaType, 3000), mediaType).toBe(added);
    }
    expect(tokensOf('image/png', 3000)).toBeGreaterThan(1000);
    expect(tokensOf('application/zip', 3000)).toBeLessThan(100);
  });
});
