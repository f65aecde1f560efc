import { expect, test } from 'vitest';
import type { TranscriptEntry } from '../../core/context/transcript.ts';
import { newId } from '../../schema/ids.ts';
import { renderTranscript } from './render-transcript.ts';

const plain = {
  isTerminal: false,
  columns: 80,
  write: async () => undefined,
  style: (_: unknown, text: string) => text,
};

const entry = (content: readonly object[], more: object = {}): TranscriptEntry =>
  ({
    seq: 1,
    turn: 1,
    at: 0,
    actor: 'agent:tester',
    message: { id: newId('msg'), role: 'assistant', content },
    ...more,
  }) as unknown as TranscriptEntry;

test('[PIPE2] reasoning is labelled and set apart from the answer, without colours', () => {
  const content = [
    { type: 'reasoning', text: 'The clock says twelve.\nSo be it.' },
    { type: 'text', text: 'It is twelve.' },
  ];
  expect(renderTranscript([entry(content)], plain).slice(2)).toEqual([
    'assistant',
    '  reasoning:',
    '    The clock says twelve.',
    '    So be it.',
    '  It is twelve.',
  ]);
});

test('[PIPE2, CUT3] a broken-off answer is labelled, with the reason and what is left out', () => {
  const lines = renderTranscript(
    [entry([{ type: 'text', text: 'It is' }], { brokenOff: 'cancelled', omittedChars: 7 })],
    plain,
  );
  expect(lines.slice(2)).toEqual(['assistant (broken off: the run was cancelled, 7 characters left out)', '  It is']);
});
