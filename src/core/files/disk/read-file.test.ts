import { expect, test } from 'vitest';
import { isSettled } from './read-file.ts';

const now = 1_800_000_000_500;

test('[FILE3] the times of a file that changed within the same clock tick as its reading are not trusted', () => {
  const at = (mtimeMs: number, ctimeMs = mtimeMs) => isSettled({ mtimeMs, ctimeMs }, now);
  expect(at(now - 1.5)).toBe(false);
  expect(at(now - 90.5)).toBe(false);
  expect(at(now - 150.5)).toBe(true);
  // Either time can be set to any value, or be set by another machine's clock.
  expect(at(now - 1e6 - 0.5, now - 1.5)).toBe(false);
  expect(at(now + 5000.5, now - 1e6 - 0.5)).toBe(false);
  // A file system with a resolution of one or two seconds.
  expect(at(now - 500)).toBe(false);
  expect(at(now - 2500)).toBe(false);
  expect(at(now - 3500)).toBe(true);
});
