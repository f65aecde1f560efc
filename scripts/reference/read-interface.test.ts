import { expect, test } from 'vitest';
import { readAlias, readInterface } from './read-interface.ts';

const source = `
export type Effects = 'none' | 'once';
type Rule<Input> =
  | boolean
  | ((input: Input) => boolean | Promise<boolean>);

export interface Other {
  readonly no: string;
}

export interface Options extends Other {
  /** Where it is. */
  readonly url: string;
  /**
   * How often, over
   * two lines.
   */
  readonly rate?: { readonly perSecond: number; readonly burst: number } | undefined;
  /** Told of it. */
  readonly onWarning?: ((problem: Error) => void) | undefined;
  /** Does it. */
  run(
    input: string,
    options: { readonly fast?: boolean },
  ): Promise<void>;
  /** Asks. */
  ask?(input: string): {
    readonly text: string;
    readonly choices?: readonly string[];
  };
}
`;

test('members are read with their comments, and methods as functions', () => {
  expect(readInterface(source, 'Options')).toEqual([
    { name: 'url', isOptional: false, type: 'string', about: 'Where it is.' },
    {
      name: 'rate',
      isOptional: true,
      type: '{ perSecond: number; burst: number }',
      about: 'How often, over two lines.',
    },
    { name: 'onWarning', isOptional: true, type: '(problem: Error) => void', about: 'Told of it.' },
    {
      name: 'run',
      isOptional: false,
      type: '(input: string, options: { fast?: boolean }) => Promise<void>',
      about: 'Does it.',
    },
    {
      name: 'ask',
      isOptional: true,
      type: '(input: string) => { text: string; choices?: string[] }',
      about: 'Asks.',
    },
  ]);
});

test('a member without a comment, or a missing interface, is rejected', () => {
  expect(() => readInterface(source, 'Other')).toThrow('Other.no needs a comment');
  expect(() => readInterface(source, 'Missing')).toThrow('there is no interface Missing');
});

test('a type alias is read, on any number of lines', () => {
  expect(readAlias(source, 'Effects')).toBe("'none' | 'once'");
  expect(readAlias(source, 'Rule')).toBe('boolean | ((input: Input) => boolean | Promise<boolean>)');
  expect(() => readAlias(source, 'Missing')).toThrow('there is no type Missing');
});
