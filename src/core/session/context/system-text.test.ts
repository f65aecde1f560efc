import { expect, test } from 'vitest';
import { emptyState } from '../../../schema/state.ts';
import type { SessionFold } from '../fold.ts';
import { textTokens } from './context-units.ts';
import { type SystemParts, systemText } from './system-text.ts';

const many = (value: unknown) => Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`k${index}`, value]));
const began = (state: object) =>
  ({ state: { ...emptyState, ...state }, provenance: {}, recentFiles: [] }) as unknown as SessionFold;
const compaction = {
  from: 1,
  to: 2,
  summary: 'x'.repeat(20_000),
  evicted: ['turns:1-9', ...Object.keys(many(1)).map((key) => `call:${key}`)],
  calls: 700,
  summarizer: 'test',
} as NonNullable<SystemParts['compaction']>;
const full = {
  facts: many('x'.repeat(20)),
  decisions: many({ what: 'a', why: 'b' }),
  plan: many({ step: 'a', status: 'todo', order: 1 }),
  progress: many({ note: 'x'.repeat(20) }),
};

test.each([
  ['the state', { began: began(full), compaction: undefined }],
  ['the compacted summary', { began: began({}), compaction }],
])('[CTX11] %s uses at most a quarter of the spare tokens', (_, parts) => {
  const least = textTokens(systemText(parts, 0));
  const notes = 20;
  for (const spare of [100, 1000, 10_000]) {
    const taken = textTokens(systemText(parts, spare)) - least;
    expect(taken).toBeLessThanOrEqual(spare / 4 + notes);
    expect(taken).toBeGreaterThan(spare / 8);
  }
});

test('[CTX2, CTX5] a summary and keys that are too long are cut, and the text says how much is missing', () => {
  const text = systemText({ instructions: 'Be brief.', began: began({}), compaction }, 1000);
  expect(text).toMatch(/^Be brief\.\n\n# Earlier in this session\n\n/);
  const [, shown, more] = /\n\n(x+)\n\((\d+) more characters: recall summary\)\n\n/.exec(text)!;
  expect(shown!.length + Number(more)).toBe(20_000);
  const [, calls] = /turns:1-9\n- call:.*\n\(and (\d+) more calls, in these turns\)$/s.exec(text)!;
  expect(Number(calls)).toBe(700 - text.split('call:').length + 1);
});
