import { expect, test } from 'vitest';
import { readHandle } from './read-handle.ts';

const source = `
/** What is held. */
export interface Box extends Other {
  readonly lid: Lid;
  /** Puts in what
   * is given. */
  put<Thing extends object>(
    thing: Thing | readonly Thing[],
    options?: z.input<typeof PutOptions>,
  ): Promise<readonly Thing[]>;
  /** As they come; \`after\` one. */
  follow(options?: { readonly after?: number | undefined }): AsyncGenerator<Thing, void, void>;
  /** Hears of it. */
  hear(listener: (thing: Thing) => void): () => void;
  /** If there is one. */
  take(): Promise<Thing | undefined>;
}

export interface Sorted {
  // Opening

  readonly lid: Lid;
  /** Lifts the lid. */
  open(): void;

  // Closing and after

  /** Puts the lid back. */
  close(): void;
}

export interface Bare {
  open(): void;
}

export interface Odd {
  /** A getter. */
  get size(): number;
  // Not understood.
  open(): void;
}
`;

test('methods are read with their signature and what their comments say, and what else a handle has', () => {
  expect(readHandle(source, 'Box')).toEqual([
    { name: 'lid', signature: 'lid: Lid', isMethod: false, about: '' },
    {
      name: 'put',
      signature: 'put<Thing extends object>(thing: Thing | Thing[], options?: PutOptions): Promise<Thing[]>',
      isMethod: true,
      about: 'Puts in what is given.',
    },
    {
      name: 'follow',
      signature: 'follow(options?: { after?: number }): AsyncGenerator<Thing>',
      isMethod: true,
      about: 'As they come; `after` one.',
    },
    {
      name: 'hear',
      signature: 'hear(listener: (thing: Thing) => void): () => void',
      isMethod: true,
      about: 'Hears of it.',
    },
    { name: 'take', signature: 'take(): Promise<Thing | undefined>', isMethod: true, about: 'If there is one.' },
  ]);
});

test('a member has the heading that it stands under', () => {
  expect(readHandle(source, 'Sorted').map(({ name, topic }) => [name, topic])).toEqual([
    ['lid', 'Opening'],
    ['open', 'Opening'],
    ['close', 'Closing and after'],
  ]);
});

test('a method without a comment is refused, and so is what cannot be read', () => {
  expect(() => readHandle(source, 'Bare')).toThrow('Bare.open needs a comment');
  expect(() => readHandle(source, 'Odd')).toThrow('Odd has something');
  expect(() => readHandle(source, 'Missing')).toThrow('there is no interface Missing');
});
