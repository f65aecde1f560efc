import type { ModelMessage } from 'ai';
import { expect, test } from 'vitest';
import { newId } from '../schema/ids.ts';
import { Message } from '../schema/message.ts';
import { fromModelMessages, toModelMessages } from './model-messages.ts';

const signed = { anthropic: { signature: 'sealed' } };
const response: ModelMessage[] = [
  {
    role: 'assistant',
    content: [
      { type: 'reasoning', text: 'hm', providerOptions: signed },
      { type: 'text', text: 'I refund it.' },
      { type: 'tool-call', toolCallId: 'c1', toolName: 'refund', input: { order: 'A1' } },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'mail', input: {} },
    ],
  },
  {
    role: 'tool',
    content: [
      { type: 'tool-result', toolCallId: 'c1', toolName: 'refund', output: { type: 'json', value: { paid: 1 } } },
      { type: 'tool-result', toolCallId: 'c2', toolName: 'mail', output: { type: 'error-text', value: 'no address' } },
    ],
  },
  { role: 'assistant', content: 'Done.' },
];

test('[LOOP12] the messages of an AI SDK response become messages that can be appended', () => {
  expect(fromModelMessages(response)).toEqual([
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'hm', provider: signed },
        { type: 'text', text: 'I refund it.' },
        { type: 'tool-call', callId: 'c1', tool: 'refund', input: { order: 'A1' } },
        { type: 'tool-call', callId: 'c2', tool: 'mail', input: {} },
      ],
    },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', callId: 'c1', tool: 'refund', outcome: 'ok', output: { paid: 1 } },
        { type: 'tool-result', callId: 'c2', tool: 'mail', outcome: 'threw', output: 'no address' },
      ],
    },
    { role: 'assistant', content: 'Done.' },
  ]);
});

test('[LOOP12] messages of a context become messages of the AI SDK, and keep calls, results and provider data', () => {
  const stored = fromModelMessages(response).map((message) =>
    Message.parse({
      ...message,
      id: newId('msg'),
      content: typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content,
    }),
  );
  const messages: ModelMessage[] = toModelMessages(stored);
  expect(messages).toEqual([
    response[0],
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c1', toolName: 'refund', output: { type: 'json', value: { paid: 1 } } },
        {
          type: 'tool-result',
          toolCallId: 'c2',
          toolName: 'mail',
          output: { type: 'error-text', value: '[threw] no address' },
        },
      ],
    },
    { role: 'assistant', content: [{ type: 'text', text: 'Done.' }] },
  ]);
});

test('[LOOP12] the result of a tool that the provider ran becomes a message of its own', () => {
  const message: ModelMessage = {
    role: 'assistant',
    content: [
      { type: 'tool-call', toolCallId: 's1', toolName: 'search', input: { for: 'x' }, providerExecuted: true },
      { type: 'tool-result', toolCallId: 's1', toolName: 'search', output: { type: 'text', value: 'found' } },
      { type: 'text', text: 'Here.' },
    ],
  };
  expect(fromModelMessages([message]).map(({ role }) => role)).toEqual(['assistant', 'tool']);
});
