import { expect, test } from 'vitest';
import type { ModelDelta, ModelRequest } from '../core/ports/model.ts';
import { newId } from '../schema/ids.ts';
import { Message, type ToolOutcome } from '../schema/message.ts';
import { demoScript } from './demo-script.ts';
import { defineScript, type Script } from './script.ts';
import { scriptedModel } from './scripted.ts';

const user = (text: string): Message => ({ id: newId('msg'), role: 'user', content: [{ type: 'text', text }] });
const requestOf = (messages: readonly Message[], signal = new AbortController().signal): ModelRequest => ({
  instructions: '',
  messages,
  tools: [],
  settings: {},
  signal,
});

/** Continues a conversation as a run would, with the same outcome for every call. */
const next = async (script: Script, messages: readonly Message[], outcome: ToolOutcome = 'ok', output = 'fine') => {
  const { parts } = await scriptedModel(script).answer(requestOf(messages), () => {});
  const answer: Message = { id: newId('msg'), role: 'assistant', content: [...parts] };
  const calls = parts.flatMap((part) => (part.type === 'tool-call' ? [part] : []));
  const content = calls.map(({ callId, tool }) => ({ type: 'tool-result' as const, callId, tool, outcome, output }));
  const results: Message = { id: newId('msg'), role: 'tool', content };
  return { parts, calls, messages: [...messages, answer, ...(calls.length > 0 ? [results] : [])] };
};
const textOf = (parts: readonly { type: string; text?: string }[]) =>
  parts.flatMap(({ type, text }) => (type === 'text' ? [text] : [])).join('');

const build = defineScript({
  name: 'build',
  steps: [
    {
      reasoning: 'First the tests.',
      text: 'I run the tests.',
      calls: [
        { tool: 'shell', input: { command: 'npm test' } },
        { tool: 'list', input: {} },
      ],
    },
    { when: { last: { tool: 'shell', outcome: 'denied' } }, text: 'Then I leave it.' },
    { when: { last: { outcome: 'ok', matches: 'FAILED' } }, text: 'They fail.' },
    { when: { last: { outcome: 'ok' } }, text: 'They pass.' },
    { when: { userMatches: 'again' }, calls: [{ tool: 'shell', input: { command: 'npm test' } }] },
  ],
});

test('[MODEL10] the results of the last calls decide the next step', async () => {
  const outcomes = [
    ['denied', 'no', 'Then I leave it.'],
    ['ok', '3 failed', 'They fail.'],
    ['ok', '3 passed', 'They pass.'],
    ['timeout', 'slow', 'This is the script "build", not a model: no step of it answers this.'],
  ] as const;
  for (const [outcome, output, text] of outcomes) {
    const first = await next(build, [user('Test it')], outcome, output);
    expect(textOf((await next(build, first.messages)).parts)).toBe(text);
  }
});

test('[MODEL10] equal messages get the same answer, whichever copy of the log they are read from', async () => {
  const opening = user('Test it');
  const first = await next(build, [opening]);
  const copy: Message[] = JSON.parse(JSON.stringify(first.messages));
  expect((await next(build, [opening])).parts).toEqual(first.parts);
  expect((await next(build, copy)).parts).toEqual((await next(build, first.messages)).parts);
  for (const message of copy) expect(Message.safeParse(message).success).toBe(true);
});

test('[MODEL10] call ids differ between turns, even if the context contains none of the earlier turns', async () => {
  const first = await next(build, [user('Test it')]);
  const second = await next(build, first.messages);
  const third = await next(build, [...second.messages, user('Once again')]);
  const forgetful = await next(build, [user('Test it')]);
  const ids = [first, second, third, forgetful].flatMap(({ calls }) => calls.map(({ callId }) => callId));
  expect(ids[0]).toMatch(/^call_s1_1_/);
  expect(ids[2]).toMatch(/^call_s3_1_/);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids).toHaveLength(5);
});

test('[MODEL11] after the last step, or if no step fits, the answer says that it comes from a script', async () => {
  const one = defineScript({ name: 'one', steps: [{ when: { userMatches: '^go' }, text: 'Going.' }] });
  const lost = await next(one, [user('What?')]);
  expect(textOf(lost.parts)).toBe('This is the script "one", not a model: no step of it answers this.');
  const found = await next(one, [...lost.messages, user('Go')]);
  expect(textOf(found.parts)).toBe('Going.');
  const over = await next(one, [...found.messages, user('Go')]);
  expect(textOf(over.parts)).toBe('This is the script "one", not a model: it is over.');
});

test('[MODEL10] a script with everyTurn starts over in each turn', async () => {
  const hello = await next(demoScript, [user('Hello')]);
  const work = await next(demoScript, [...hello.messages, user('Fix the bug')]);
  const again = await next(demoScript, [...work.messages, user('Hello')]);
  expect(textOf(again.parts)).toBe(textOf(hello.parts));
  expect(textOf(work.parts)).toContain('I am a script');
});

test('[MODEL1] a script streams word by word, and an abort stops it', async () => {
  const deltas: ModelDelta[] = [];
  const cancel = new AbortController();
  const pauses: AbortSignal[] = [];
  const model = scriptedModel(build, { pause: async (signal) => void pauses.push(signal) });
  const { parts, usage } = await model.answer(requestOf([user('Go')]), (delta) => deltas.push(delta));
  const written = (kind: string) => deltas.flatMap((each) => (each.kind === kind ? [each.text] : []));
  expect(written('text')).toEqual(['I ', 'run ', 'the ', 'tests.']);
  expect(written('reasoning').join('')).toBe('First the tests.');
  expect(written('tool-input')).toEqual(['{"command":"npm test"}', '{}']);
  expect(pauses).toHaveLength(deltas.length);
  expect(parts.map(({ type }) => type)).toEqual(['reasoning', 'text', 'tool-call', 'tool-call']);
  expect(usage.usd).toBe(0);
  const asking = model.answer(requestOf([user('Go')], cancel.signal), () => cancel.abort('enough'));
  await expect(asking).rejects.toBe('enough');
});

test('[MODEL8] defining an invalid script fails', () => {
  const invalid: Script[] = [
    { name: 'a b', steps: [{ text: 'x' }] },
    { name: 'a', steps: [] },
    { name: 'a', steps: [{ name: 'mute' }] },
    { name: 'a', steps: [{ text: 'x', when: { userMatches: '(' } }] },
  ];
  for (const script of invalid) expect(() => defineScript(script)).toThrow(/the script "a/);
});
