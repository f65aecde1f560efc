import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { assemble, target } from './assemble-lz4.ts';

test('what compresses payloads is what its source says', async () => {
  expect(readFileSync(target, 'utf8')).toBe(await assemble());
});
