import { describe, expect, test } from 'vitest';
import type { SessionEvent } from '../../schema/event.ts';
import { newId } from '../../schema/ids.ts';
import { LivePrinter } from './live-printer.ts';

type Pieces = readonly (readonly [kind: 'text' | 'reasoning', text: string])[];

const terminalInto = (write: (text: string) => void, isTerminal: boolean) => ({
  isTerminal,
  columns: Number.POSITIVE_INFINITY,
  write: async (output: string | Uint8Array) => write(String(output)),
  style: (_: unknown, text: string) => text,
});

/** Returns the output for an answer whose previews arrived before its event. */
const printed = async (pieces: Pieces) => {
  let said = '';
  const terminal = terminalInto((text) => {
    said += text;
  }, true);
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

describe('[PIPE1] when stdout is not a terminal', () => {
  const run = newId('run');
  const answer = (text: string, ...more: readonly object[]) => ({
    message: { id: newId('msg'), role: 'assistant', content: [{ type: 'text', text }, ...more] },
  });
  const call = { type: 'tool-call', callId: 'c', tool: 'look', input: {} };
  const ended = { status: 'succeeded', output: '' };

  const piped = async (...events: readonly (readonly [type: string, payload: object])[]) => {
    const said = { out: '', err: '' };
    const into = (stream: keyof typeof said) =>
      terminalInto((text) => {
        said[stream] += text;
      }, false);
    const printer = new LivePrinter({ out: into('out'), err: into('err') }, undefined, (of) => of === run);
    for (const [type, payload] of events) printer.event({ run, type, payload } as unknown as SessionEvent);
    await printer.settled;
    return said;
  };

  test('it gets the final answer only, and stderr gets the other texts in order', async () => {
    const said = await piped(
      ['message.appended', answer('I look first.', call)],
      ['tool.called', { callId: 'c', tool: 'look', input: {} }],
      ['message.appended', answer('Not yet JSON')],
      ['message.appended', answer('{"a":1}')],
      ['run.ended', ended],
    );
    expect(said).toEqual({ out: '{"a":1}\n', err: 'I look first.\n→ look {}\nNot yet JSON\n' });
  });

  test('a broken-off answer goes to stderr, and appears once', async () => {
    const message = newId('msg');
    const content = [{ type: 'text', text: 'It is tw' }];
    const said = await piped(
      ['model.called', { message }],
      ['message.abandoned', { message, content, why: 'stopped' }],
      ['message.appended', answer('It is twelve.')],
      ['run.ended', ended],
    );
    expect(said).toEqual({ out: 'It is twelve.\n', err: 'It is tw\n· this answer was cut off\n' });
  });

  test('the answer of a failed run, and of a run that was not asked for, goes to stderr', async () => {
    const failed = await piped(
      ['message.appended', answer('Half of')],
      ['run.ended', { status: 'failed', error: { code: 'MODEL_LENGTH', message: 'too long: ask for less' } }],
    );
    expect(failed).toMatchObject({ out: '', err: expect.stringMatching(/^Half of\n! failed MODEL_LENGTH/) });
    const said = { out: '' };
    const out = terminalInto((text) => {
      said.out += text;
    }, false);
    const printer = new LivePrinter({ out, err: terminalInto(() => undefined, false) }, undefined, () => false);
    printer.event({ run, type: 'message.appended', payload: answer('Another') } as unknown as SessionEvent);
    printer.event({ run, type: 'run.ended', payload: ended } as unknown as SessionEvent);
    await printer.settled;
    expect(said.out).toBe('');
  });
});
