import { expect, test } from 'vitest';
import { isSettled } from './read-file.ts';

const now = 1_800_000_000_500;

test('[FILE3] a file that was changed in the tick in which it was read is not known by its times', () => {
  const at = (mtimeMs: number, ctimeMs = mtimeMs) => isSettled({ mtimeMs, ctimeMs }, now);
  expect(at(now - 1.5)).toBe(false);
  expect(at(now - 90.5)).toBe(false);
  expect(at(now - 150.5)).toBe(true);
  // Either may be set to anything, or be of another machine's clock.
  expect(at(now - 1e6 - 0.5, now - 1.5)).toBe(false);
  expect(at(now + 5000.5, now - 1e6 - 0.5)).toBe(false);
  // A file system that counts whole seconds, or by twos.
  expect(at(now - 500)).toBe(false);
  expect(at(now - 2500)).toBe(false);
  expect(at(now - 3500)).toBe(true);
});
