import { expect, test } from 'vitest';
import type { SessionEvent } from '../../schema/event.ts';
import { newId } from '../../schema/ids.ts';
import { LivePrinter } from './live-printer.ts';

/** Returns the output for an answer whose previews arrived before its event. */
const printed = async (pieces: readonly (readonly [kind: 'text' | 'reasoning', text: string])[]) => {
  let said = '';
  const terminal = {
    isTerminal: false,
    columns: Number.POSITIVE_INFINITY,
    write: async (output: string | Uint8Array) => {
      said += output;
    },
    style: (_: unknown, text: string) => text,
  };
  const printer = new LivePrinter({ out: terminal, err: terminal });
  const content = [
    { type: 'reasoning', text: 'I think.' },
    { type: 'text', text: 'One, two.' },
  ];
  const event = (type: string, payload: object) => printer.event({ type, payload } as unknown as SessionEvent);
  const message = newId('msg');
  event('model.called', { message });
  for (const [kind, text] of pieces) printer.piece({ type: kind, message, offset: 0, text });
  event('message.appended', { message: { id: message, role: 'assistant', content } });
  printer.piece({ type: 'text', message, offset: 5, text: 'two.' });
  await printer.settled;
  return said;
};

test('[CLIR4, CLIR19] previews that arrive after the event are printed once and in place', async () => {
  const whole = await printed([]);
  expect(whole.match(/One, two\./g)).toHaveLength(1);
  for (const pieces of [
    [['reasoning', 'I th']],
    [['reasoning', 'I think.']],
    [
      ['reasoning', 'I think.'],
      ['text', 'One, '],
    ],
  ] as const) {
    expect(await printed(pieces)).toBe(whole);
  }
});

test('[CLIR4] when a preview is missing, the whole answer is printed', async () => {
  for (const pieces of [[['text', 'two.']], [['text', 'One, ']]] as const) {
    expect(await printed(pieces)).toMatch(/the whole answer:\nI think\.\nOne, two\.\n$/);
  }
});
