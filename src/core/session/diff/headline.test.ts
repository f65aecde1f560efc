import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Actor, MessageId, SessionId } from '../../../schema/ids.ts';
import { emptyState, type State } from '../../../schema/state.ts';
import { diffStates } from '../state/diff.ts';
import { lastOf } from '../state/patch-between.ts';
import { compareSteps } from './compare-sides.ts';
import { type HeadlineParts, headlineOf } from './headline.ts';
import type { Side, SideCall, SideCommit } from './side.ts';
import { modelsBetween, usageBetween } from './side-changes.ts';

const session = 'ses_01jd3v8m9k5x7q2w4e6r8t0y1a' as SessionId;
const message = 'msg_01jd3v8m9k5x7q2w4e6r8t0y1a' as MessageId;
const noUsage = { requests: 0, inputTokens: 0, outputTokens: 0, tokens: 0, costUsd: 0, unpriced: 0, durationMs: 0 };
const none: Side = { messages: [], calls: [], commits: [], models: [], usage: noUsage, unread: 0 };

const commitFor = (text: string, ...entries: readonly string[]): SideCommit => ({
  session,
  seq: 1,
  turn: 1,
  at: 1,
  actor: 'agent:coder' as Actor,
  entries,
  said: { message, seq: 1, text },
});

const callsOf = (count: number): Side['calls'] =>
  Array.from({ length: count }, (_, n) => {
    const item: SideCall = { session, seq: n, turn: 1, callId: `c${n}`, tool: 'edit', outcome: 'ok', input: `${n}` };
    return { item, key: `${n}`, kind: 'edit', end: 'ok' };
  });

const headline = (
  states: readonly [Partial<State>, Partial<State>],
  sides: readonly [Partial<Side>, Partial<Side>] = [{}, {}],
  files: HeadlineParts['files'] = [],
): string => {
  const [before, after] = [
    { ...none, ...sides[0] },
    { ...none, ...sides[1] },
  ];
  return headlineOf({
    files,
    state: diffStates({ ...emptyState, ...states[0] }, { ...emptyState, ...states[1] }),
    sides: { before, after },
    compared: lastOf(compareSteps(before, after)),
    usage: usageBetween(before, after),
    models: modelsBetween(before, after),
  });
};

const storage = (what: string, more = {}) => ({ decisions: { storage: { what, why: 'so', ...more } } });

describe('the headline of a diff', () => {
  test('[DIFF8] quotes what was said for a file, and shows decisions, calls and cost', () => {
    const files = [{ path: 'counts.js', change: 'modified', after: commitFor('a restart must not forget') }];
    const usage = { ...noUsage, costUsd: 0.012 };
    expect(headline([storage('Map'), storage('SQLite')], [{}, { calls: callsOf(2), usage }], files)).toBe(
      'counts.js modified ("a restart must not forget"); decision storage: Map → SQLite; +2 calls, +$0.012',
    );
  });

  test('[DIFF8] shows which field of an entry moved, and what was dropped', () => {
    expect(headline([storage('Map', { confidence: 0.4 }), storage('Map', { confidence: 0.9 })])).toBe(
      'decision storage: confidence 0.4 → 0.9',
    );
    expect(headline([storage('Map'), {}])).toBe('decision storage dropped');
    expect(headline([{ facts: { port: 8080 } }, { facts: { port: 9090 } }])).toBe('fact port: 8080 → 9090');
  });

  test('[DIFF8] quotes a fact with the words of the call that set it', () => {
    const item = commitFor('8080 is taken.', '/facts/port');
    expect(
      headline([{}, { facts: { port: 9090 } }], [{}, { commits: [{ item, key: 'a', kind: 'a', end: 'a' }] }]),
    ).toBe('fact port: 9090 ("8080 is taken.")');
  });

  test('[DIFF8] shows both answers around the place where they differ', () => {
    const same = 'The server now listens on the port that the configuration names, which is '.repeat(2);
    const sides = [
      { answer: { message, seq: 1, text: `${same}8080` } },
      { answer: { message, seq: 1, text: `${same}9090` } },
    ];
    expect(headline([{}, {}], sides as never)).toMatch(/^answer: "….* is 8080" → "….* is 9090"$/);
  });

  test('[DIFF8] keeps within three lines of 200 characters, and stored text cannot pass for another part', () => {
    const hostile = fc.string({ unit: 'binary', minLength: 1 });
    fc.assert(
      fc.property(fc.array(hostile, { minLength: 1, maxLength: 9 }), (texts) => {
        const files = texts.map((path) => ({ path, change: 'created', after: commitFor(path) }));
        const facts = Object.fromEntries(texts.map((text) => [text, text]));
        const lines = headline([{}, { facts }], [{}, { answer: { message, seq: 1, text: texts[0]! } }], files).split(
          '\n',
        );
        expect(lines.length).toBeLessThanOrEqual(3);
        for (const line of lines) {
          expect(line.length).toBeLessThanOrEqual(200);
          expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u202e]/u);
        }
      }),
    );
    expect(headline([{}, { facts: { 'a; +9 calls': 'b" → "c' } }])).toBe('fact "a; +9 calls": "b\\" → \\"c"');
  });
});
