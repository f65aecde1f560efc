import { expect, test } from 'vitest';
import { newId } from '../schema/ids.ts';
import { type Message, type ToolOutcome, toolOutcomes } from '../schema/message.ts';
import { toPrompt } from './to-prompt.ts';

const user = (...texts: string[]): Message => ({
  id: newId('msg'),
  role: 'user',
  content: texts.map((text) => ({ type: 'text', text })),
});
const sealed = { anthropic: { redactedData: 'sealed' } };
const noted = { openai: { itemId: 'fc_1', parallelToolCall: { index: 0 } } };
const call: Message = {
  id: newId('msg'),
  role: 'assistant',
  content: [
    { type: 'reasoning', text: '', provider: sealed },
    { type: 'text', text: '' },
    { type: 'tool-call', callId: 'c1', tool: 'read', input: { path: 'a' }, provider: noted },
  ],
};
const result = (outcome: ToolOutcome, output: string | { n: number }): Message => ({
  id: newId('msg'),
  role: 'tool',
  content: [{ type: 'tool-result', callId: 'c1', tool: 'read', outcome, output }],
});

test('[MODEL2] provider metadata stays with its part, and the metadata of a call is repeated on its result', () => {
  const [, assistant, tool] = toPrompt('', [user('Go'), call, result('ok', 'x')]);
  expect(assistant?.content).toEqual([
    { type: 'reasoning', text: '', providerOptions: sealed },
    { type: 'tool-call', toolCallId: 'c1', toolName: 'read', input: { path: 'a' }, providerOptions: noted },
  ]);
  expect(tool?.content).toMatchObject([{ toolCallId: 'c1', providerOptions: noted }]);
});

test('[MODEL3] every outcome is converted to its own output type', () => {
  const outputOf = (outcome: ToolOutcome, output: string | { n: number }) =>
    (toPrompt('', [call, result(outcome, output)])[1]!.content[0] as { output: unknown }).output;
  expect(outputOf('ok', 'x')).toEqual({ type: 'text', value: 'x' });
  expect(outputOf('ok', { n: 1 })).toEqual({ type: 'json', value: { n: 1 } });
  expect(outputOf('denied', 'no')).toEqual({ type: 'execution-denied', reason: '[denied] no' });
  for (const outcome of toolOutcomes.filter((each) => each !== 'ok' && each !== 'denied')) {
    expect(outputOf(outcome, { n: 1 })).toEqual({ type: 'error-text', value: `[${outcome}] {"n":1}` });
  }
});

test('[MODEL2] the prompt starts with the system message, alternates roles and has no empty parts', () => {
  const note: Message = { id: newId('msg'), role: 'system', content: [{ type: 'text', text: 'note' }] };
  const empty: Message = { id: newId('msg'), role: 'assistant', content: [] };
  const prompt = toPrompt('be brief', [note, user('a', ''), empty, user('b'), note]);
  expect(prompt).toEqual([
    { role: 'system', content: 'be brief\n\nnote' },
    { role: 'user', content: ['a', 'b', 'note'].map((text) => ({ type: 'text', text })) },
  ]);
});
