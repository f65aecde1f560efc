import { expect, test } from 'vitest';
import type { SessionEvent } from '../../../schema/event.ts';
import { newId } from '../../../schema/ids.ts';
import { addPieces, brokenContent, maxBrokenChars, noPieces } from './partial-answer.ts';
import { foldRuns, noRuns, type RunFold } from './run-fold.ts';

const message = newId('msg');
const run = newId('run');
const usage = { inputTokens: 1, outputTokens: 1 };
const piece = (offset: number, text: string, type: 'text' | 'reasoning' = 'text') => ({
  pieces: [{ type, offset, text }],
  usage,
});

test('[CUT2] a piece that was stored twice, or overlaps the piece before it, counts once', () => {
  const answer = [piece(0, 'One, '), piece(0, 'One, '), piece(2, 'e, two'), piece(0, 'Hm.', 'reasoning')].reduce(
    addPieces,
    noPieces(message),
  );
  expect(brokenContent(answer)).toEqual({
    content: [
      { type: 'text', text: 'One, two' },
      { type: 'reasoning', text: 'Hm.' },
    ],
  });
});

test('[CUT8] a broken-off answer is cut at its limit, and says how much it leaves out', () => {
  const half = 'x'.repeat(maxBrokenChars / 2 + 10);
  const pieces = [
    piece(0, half),
    piece(half.length, half),
    piece(2 * half.length, 'more'),
    piece(0, 'Hm.', 'reasoning'),
  ];
  const { content, omittedChars } = brokenContent(pieces.reduce(addPieces, noPieces(message)));
  expect(content).toEqual([{ type: 'text', text: 'x'.repeat(maxBrokenChars) }]);
  expect(omittedChars).toBe(20 + 4 + 3);
});

test('[CUT8] the pieces of a long answer leave the fold as small as the first one', () => {
  let seq = 0;
  const next = (fold: RunFold, type: string, payload: object): RunFold =>
    foldRuns(fold, { seq: ++seq, at: seq, type, payload, run, turn: 1, actor: 'system' } as unknown as SessionEvent);
  const asked = next(next(noRuns, 'run.started', { attempt: 1 }), 'model.called', { message, reservedTokens: 9 });
  const first = next(asked, 'message.progressed', { message, ...piece(0, 'x'.repeat(4096)) });
  let last = first;
  for (let offset = 4096; offset < 1024 * 1024; offset += 4096) {
    last = next(last, 'message.progressed', { message, ...piece(offset, 'x'.repeat(4096)) });
  }
  expect(last).toBe(first);
  expect(JSON.stringify(first).length - JSON.stringify(asked).length).toBeLessThan(30);
  expect(next(last, 'message.abandoned', { message, usage }).run!.asked).toBeUndefined();
});
