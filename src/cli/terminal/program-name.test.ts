import { expect, test } from 'vitest';
import { programName } from './program-name.ts';

test.each([
  ['/app/bin/perdure', '/app', './bin/perdure'],
  ['/app/node_modules/.bin/perdure', '/app', 'npx perdure'],
  ['/app/node_modules/perdure/bin/perdure', '/app', 'npx perdure'],
  ['/usr/local/bin/perdure', '/app', 'perdure'],
  ['/app/bin/perdure', '/app/src', 'perdure'],
])('[START1] %s is called from %s as %s', (file, folder, name) => {
  expect(programName(file, folder)).toBe(name);
});
