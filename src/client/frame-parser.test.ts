import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Frame, FrameParser } from './frame-parser.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

const parse = (chunks: readonly Uint8Array[], maxChars = 10_000): readonly Frame[] => {
  const parser = new FrameParser(maxChars);
  return chunks.flatMap((chunk) => parser.push(chunk));
};

const cutAt = (bytes: Uint8Array, places: readonly number[]): readonly Uint8Array[] => {
  const ends = [...new Set(places.map((place) => place % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...ends].map((start, index) => bytes.subarray(start, ends[index] ?? bytes.length));
};

const lineEnd = fc.constantFrom('\n', '\r\n', '\r');
const lineText = fc
  .string({ unit: 'grapheme', maxLength: 12 })
  .filter((text) => !/[\r\n\0]/.test(text) && !text.startsWith('\ufeff'));

/** A generated frame: its bytes on the wire, after a comment, and the frame that the parser must return. */
const written = fc
  .record({
    comment: fc.option(lineText, { nil: undefined }),
    id: fc.option(lineText, { nil: undefined }),
    event: fc.option(
      lineText.filter((text) => text !== ''),
      { nil: undefined },
    ),
    data: fc.array(lineText, { minLength: 1, maxLength: 3 }),
    end: lineEnd,
  })
  .map(({ comment, id, event, data, end }) => ({
    text: [
      ...(comment === undefined ? [] : [`: ${comment}`, '']),
      ...(id === undefined ? [] : [`id: ${id}`]),
      ...(event === undefined ? [] : [`event: ${event}`]),
      'retry: 1000',
      ...data.map((line) => `data: ${line}`),
      '',
    ]
      .map((line) => line + end)
      .join(''),
    frame: { id, event: event ?? 'message', data: data.join('\n') },
  }));

test('[CLIENT3] frames are parsed identically wherever their bytes are split, with any line ending, comment and Unicode text', () => {
  fc.assert(
    fc.property(fc.array(written, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 30 }), (all, places) => {
      const bytes = bytesOf(all.map(({ text }) => text).join(''));
      expect(parse(cutAt(bytes, places))).toEqual(all.map(({ frame }) => frame));
    }),
    { numRuns: 500 },
  );
});

test('[CLIENT3] splitting a stream at any single byte yields the same frames', () => {
  const bytes = bytesOf(
    ': open\n\nid: 7\r\nevent: message.appended\r\ndata: {"text":"grüß 🌍"}\r\n\r\ndata:a\rdata: b\r\r',
  );
  const whole = parse([bytes]);
  expect(whole).toEqual([
    { id: '7', event: 'message.appended', data: '{"text":"grüß 🌍"}' },
    { id: undefined, event: 'message', data: 'a\nb' },
  ]);
  for (let at = 0; at <= bytes.length; at++) expect(parse(cutAt(bytes, [at]))).toEqual(whole);
  expect(parse([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(whole);
});

test('[CLIENT3] the parser returns neither an incomplete frame nor an id without data', () => {
  expect(parse([bytesOf('id: 1\ndata: half')])).toEqual([]);
  expect(parse([bytesOf('id: 1\n\ndata: whole\n\n')])).toEqual([{ id: undefined, event: 'message', data: 'whole' }]);
});

test('[CLIENT6] a frame that never ends fails at its limit, and endless comments are not buffered', () => {
  expect(() => parse([bytesOf('data: '), bytesOf('x'.repeat(600)), bytesOf('y'.repeat(600))], 1000)).toThrow(
    RangeError,
  );
  const beats = Array.from({ length: 1000 }, () => bytesOf(': beat\n'));
  expect(parse([...beats, bytesOf('data: a\n\n')], 1000)).toHaveLength(1);
});
