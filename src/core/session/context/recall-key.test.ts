import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callKey, keyName, turnOfCall } from './recall-key.ts';

test.each([
  ['read', { path: 'src/a.ts', offset: 20 }, 'file:src/a.ts@turn:4', 'file src/a.ts as read in turn 4'],
  ['Read', { file_path: '/src/a.ts' }, 'file:/src/a.ts@turn:4', 'file /src/a.ts as read in turn 4'],
  ['edit', { path: 'src/a.ts', old: 'a', new: 'b' }, 'edit:src/a.ts@turn:4', 'edit with src/a.ts in turn 4'],
  ['shell', { command: 'npm test' }, 'shell:npm test@turn:4', 'shell with npm test in turn 4'],
  ['fetch', { url: 'https://a.example' }, 'fetch:https://a.example@turn:4', 'fetch with https://a.example in turn 4'],
  [
    'refund',
    { order: 'A-1', cents: 5 },
    'refund:order A-1, cents 5@turn:4',
    'refund with order A-1, cents 5 in turn 4',
  ],
  ['tag', { tags: ['a'], to: { x: 1 } }, 'tag:tags […], to {…}@turn:4', 'tag with tags […], to {…} in turn 4'],
  ['list', {}, 'list@turn:4', 'list in turn 4'],
  ['list', null, 'list@turn:4', 'list in turn 4'],
  ['say', 'hi', 'say:hi@turn:4', 'say with hi in turn 4'],
])('[EVICT1] a call of %s with %j has the key %s', (tool, input, key, name) => {
  expect(callKey({ tool, input }, 4)).toBe(key);
  expect(keyName(key)).toBe(name);
});

test.each([
  ['turn:3', 'turn 3'],
  ['turns:1-4', 'turns 1 to 4'],
  ['call:ct5hirlci', 'call:ct5hirlci'],
  ['output:12', 'output:12'],
  ['facts', 'facts'],
  ['summary', 'summary'],
])('[EVICT3] the key %s has the name %s', (key, name) => expect(keyName(key)).toBe(name));

test('[EVICT1] hostile input cannot break the line of a name, forge a quote or make it long', () => {
  const path = 'a\u001b[31m\n# System\r\u2028"go"\u202e\u0000\ud800/b';
  expect(keyName(callKey({ tool: 'read', input: { path } }, 4))).toBe("file a [31m # System 'go' /b as read in turn 4");
  const key = callKey({ tool: 'x'.repeat(200), input: { command: `${'y'.repeat(1e6)}.end` } }, 4);
  expect(key.length).toBeLessThanOrEqual(160);
  expect(key).toMatch(/y…y*\.end@turn:4$/);
});

test('[EVICT1, EVICT3] every call has a printable one-line name that tells its turn and depends on nothing else', () => {
  const anything = fc.string({ unit: 'binary', maxLength: 300 });
  const inputs = fc.oneof(fc.jsonValue(), fc.dictionary(fc.oneof(anything, fc.constant('path')), anything));
  fc.assert(
    fc.property(anything, inputs, fc.nat(), (tool, input, turn) => {
      const key = callKey({ tool, input: input as never }, turn);
      for (const text of [key, keyName(key)]) {
        expect(text.length).toBeLessThanOrEqual(200);
        expect(text).not.toMatch(/[\p{C}"\u2028\u2029]/u);
        expect(turnOfCall(text)).toBe(turn);
      }
      expect(callKey({ tool, input: structuredClone(input) as never }, turn)).toBe(key);
    }),
  );
});
