import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { assemble, target } from './assemble-lz4.ts';

test('the compiled LZ4 code matches its source', async () => {
  expect(readFileSync(target, 'utf8')).toBe(await assemble());
});
