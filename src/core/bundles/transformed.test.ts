import { Transform } from 'node:stream';
import { expect, test } from 'vitest';
import { transformed } from './transformed.ts';

const echo = () => new Transform({ transform: (chunk, _encoding, done) => done(null, chunk) });

const collect = async (source: AsyncIterable<Uint8Array>): Promise<string> => {
  let text = '';
  for await (const chunk of source) text += chunk.toString();
  return text;
};

async function* letters(onEnd = () => {}): AsyncGenerator<string> {
  try {
    for (const letter of 'abc') yield letter;
  } finally {
    onEnd();
  }
}

test('[BUN1] a transform whose output ends before its input has finished yields its whole output', async () => {
  const late = echo();
  late._final = (done) => {
    late.push(null);
    setTimeout(done, 20);
  };
  expect(await collect(transformed(letters(), late))).toBe('abc');
  expect(late.destroyed).toBe(true);
});

test('[BUN3] an error of the source or of the transform ends the iteration with that error', async () => {
  async function* broken(): AsyncGenerator<string> {
    yield 'a';
    throw new Error('the source broke');
  }
  await expect(collect(transformed(broken(), echo()))).rejects.toThrow('the source broke');
  const faulty = new Transform({ transform: (_chunk, _encoding, done) => done(new Error('the transform broke')) });
  await expect(collect(transformed(letters(), faulty))).rejects.toThrow('the transform broke');
});

test('[BUN3] a reader that stops early releases the source, even during back-pressure', async () => {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const narrow = new Transform({ highWaterMark: 1, transform: (chunk, _encoding, done) => done(null, chunk) });
  for await (const chunk of transformed(letters(resolve), narrow)) {
    expect(chunk.toString()).toBe('a');
    break;
  }
  await ended;
  expect(narrow.destroyed).toBe(true);
});
