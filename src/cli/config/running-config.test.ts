import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import { runConfig, strayError } from './running-config.ts';

const about = { shown: 'wrong.ts', from: '/app', written: new Set(['file:///app/wrong.ts']) };
const altered = (changes: object): Error => Object.assign(new RangeError('boom'), changes);
const hostile = {
  [inspect.custom]: () => {
    throw new Error('not to be shown');
  },
};

test.each([
  ['an object that cannot be converted to text', Object.create(null), 'Error: [Object: null prototype] {}; fix it'],
  ['an object with a custom inspect function', hostile, 'Error: { '],
  ['an error whose stack is not a string', altered({ stack: 5 }), 'RangeError: boom; fix it'],
  [
    'an error whose message is not a string',
    altered({ stack: 5, message: Symbol('x') }),
    'RangeError: Symbol(x); fix it',
  ],
  ['an error whose name is not a string', altered({ stack: 5, name: Symbol('x') }), 'Symbol(x): boom; fix it'],
  ['a string', 'boom', 'Error: boom; fix it'],
])('[CLIR16] a configuration that throws %s is at fault, during loading and later', async (_, thrown, expected) => {
  const fault = (what: string) => ({
    code: 'INVALID_INPUT',
    message: expect.stringContaining(`wrong.ts ${what}: ${expected}`),
  });
  await expect(runConfig(about, () => Promise.reject(thrown))).rejects.toMatchObject(fault('cannot be loaded'));
  expect(await strayError(thrown)).toMatchObject(fault('failed after it was loaded'));
});
