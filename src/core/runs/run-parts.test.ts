import { expect, test } from 'vitest';
import type { SessionEvent } from '../../schema/event.ts';
import { newId } from '../../schema/ids.ts';
import type { RunPart } from '../../schema/run-part.ts';
import { RunParts } from './run-parts.ts';

const run = newId('run');
const message = newId('msg');

const start = () => {
  const parts = new RunParts(run);
  const given: RunPart[] = [];
  let seq = 0;
  const event = (type: string, payload: object) => {
    given.push(...parts.event({ seq: ++seq, type, payload, run } as unknown as SessionEvent), ...parts.pieces());
  };
  return {
    event,
    show: (offset: number, text: string, of = message, kind: 'text' | 'reasoning' = 'text') => {
      parts.hear({ type: 'delta', message: of, kind, offset, text });
      given.push(...parts.pieces());
    },
    ask: (asked = message) => event('model.called', { message: asked }),
    answer: (text: string) => {
      event('message.appended', { message: { id: message, role: 'assistant', content: [{ type: 'text', text }] } });
    },
    text: () => given.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    given,
  };
};

test('[RUN32] pieces that arrive before the log names their model request are held back until it does', () => {
  const { show, ask, text, given } = start();
  show(0, 'One, ');
  expect(given).toEqual([]);
  ask();
  show(5, 'two.');
  expect(text()).toBe('One, two.');
});

test('[RUN32, RUN39] text that arrives twice, late or with a gap is yielded once, and the log fills the gap', () => {
  const { show, ask, answer, text, given } = start();
  ask();
  show(0, 'One, ');
  show(0, 'One, two, ');
  show(15, 'four.');
  expect(text()).toBe('One, two, ');
  answer('One, two, three, four.');
  show(0, 'One, two, three, four.');
  expect(text()).toBe('One, two, three, four.');
  expect(given.map(({ type }) => type)).toEqual(['text', 'text', 'text', 'message']);
});

test('[RUN32] if the stored answer differs from the pieces shown, only its message is yielded', () => {
  const { show, ask, answer, text, given } = start();
  ask();
  show(0, 'The key is abc');
  answer('The key is [secret key].');
  expect(text()).toBe('The key is abc');
  expect(given.at(-1)).toMatchObject({ type: 'message', message: { content: [{ text: 'The key is [secret key].' }] } });
});

test('[RUN32] late pieces of a replaced worker do not change the answer of the new worker', () => {
  const { show, ask, event, answer, text, given } = start();
  const broken = newId('msg');
  ask(broken);
  show(0, 'Broken', broken);
  event('message.abandoned', { message: broken });
  ask();
  show(0, 'One, ');
  show(6, ' off', broken);
  for (let n = 0; n < 9; n++) show(0, 'other', newId('msg'));
  show(5, 'two.');
  answer('One, two.');
  expect(text()).toBe('BrokenOne, two.');
  expect(given.map(({ type }) => type)).toEqual(['text', 'restart', 'text', 'text', 'message']);
});

test('[RUN32, RUN33] pieces that arrive while a reader handles others keep their order, and none is lost', () => {
  const parts = new RunParts(run);
  const events = (type: string, payload: object) =>
    Array.from(parts.event({ seq: 1, type, payload, run } as unknown as SessionEvent));
  events('model.called', { message });
  events('tool.called', { callId: 'call_1', tool: 'count', input: {} });
  parts.hear({ type: 'delta', message, kind: 'reasoning', offset: 0, text: 'I ' });
  parts.hear({ type: 'progress', callId: 'call_1', text: '1 of 2' });
  const given: RunPart[] = [];
  for (const piece of parts.pieces()) {
    if (given.length === 0) {
      parts.hear({ type: 'delta', message, kind: 'reasoning', offset: 2, text: 'count.' });
      parts.hear({ type: 'delta', message, kind: 'text', offset: 0, text: 'One.' });
      parts.hear({ type: 'progress', callId: 'call_1', text: '2 of 2' });
    }
    given.push(piece);
  }
  given.push(...parts.pieces());
  expect(given.map((piece) => 'text' in piece && piece.text)).toEqual(['I ', '1 of 2', 'count.', 'One.', '2 of 2']);
});
