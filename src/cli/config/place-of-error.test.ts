import { expect, test } from 'vitest';
import { isThrownBy } from './place-of-error.ts';

const [config, part, ours] = ['file:///app/perdure.config.ts', 'file:///app/part.ts', 'file:///perdure/dist/index.js'];
const thrown = (...stack: readonly string[]) => Object.assign(new Error('x'), { stack: stack.join('\n') });
const call = (url: string) => `    at run (${url}:3:7)`;

test.each([
  ['its own code', true, thrown('Error: x', call(part), call(ours))],
  ['a package that it calls', true, thrown('Error: x', call('file:///app/node_modules/a/a.js'), call(config))],
  ['one of its modules that cannot be parsed', true, thrown('/app/part.ts:3', '}', '', 'SyntaxError: x')],
  ['Perdure, which it calls', false, thrown('Error: x', call(ours), call(config))],
  ['another module that cannot be parsed', false, thrown('/app/other.ts:3', '}', '', 'SyntaxError: x', call(config))],
  ['unknown code', false, thrown('Error: x', '    at listOnTimeout (node:internal/timers:585:17)')],
  ['code that has altered its stack', false, Object.assign(new Error('x'), { stack: 5 as never })],
  [
    'a message that looks like a position',
    false,
    thrown('Error: /app/part.ts:3', '    at node:internal/timers:585:17'),
  ],
])('[CLIR16] an error thrown by %s: the configuration is at fault: %s', (_, isIts, error) => {
  expect(isThrownBy([config, part], error, (url) => url === ours)).toBe(isIts);
});
