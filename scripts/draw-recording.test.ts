import { expect, test } from 'vitest';
import { drawScreen } from './draw-screen.ts';
import { screenOf } from './terminal-screen.ts';

const texts = (output: string): readonly string[] =>
  screenOf(output).map((runs) => runs.map(({ text }) => text).join('|'));

test('only the final screen is drawn: overwritten and erased text is gone', () => {
  expect(texts('waiting, 1 s\r\x1b[Kdone\r\nnext\n\n')).toEqual(['done', 'next']);
  expect(texts('abcdef\rxy\n')).toEqual(['xycdef']);
});

test('adjacent text of the same style is one run, at its column', () => {
  expect(screenOf('\x1b[1;36m1. Go\x1b[22m\x1b[39m  now')).toEqual([
    [
      { text: '1. Go', column: 0, bold: true, dim: false, colour: 36 },
      { text: '  now', column: 5, bold: false, dim: false, colour: undefined },
    ],
  ]);
  expect(() => screenOf('\x1b[5mblinks')).toThrow('style 5');
});

test('the screen is drawn as text only, each run as wide as its columns', () => {
  const svg = drawScreen(screenOf('a \x1b[31m<b>  & c\x1b[39m'), 'What <it> shows');
  expect(svg).toContain('<text x="36.8" y="33.5" textLength="67.2" fill="#ff7b72">&lt;b&gt;\u00a0\u00a0&amp; c</text>');
  expect(svg).toContain('<title>What &lt;it&gt; shows</title>');
  expect(svg).not.toMatch(/<script|href|url\(|@import/);
  expect(Number(/^<svg [^>]*width="(\d+)"/.exec(svg)?.[1])).toBeLessThanOrEqual(900);
});
