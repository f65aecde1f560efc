import { expect, test } from 'vitest';
import { pause } from './pause.ts';

const longMs = 2 ** 31 - 1;

test('a pause ends when its time is over or its signal aborts, even if the signal was aborted before', async () => {
  const ending = new AbortController();
  const waiting = pause(longMs, ending);
  ending.abort();
  await waiting;
  await pause(longMs, ending);
  const startedAt = performance.now();
  await pause(20);
  expect(performance.now() - startedAt).toBeGreaterThan(15);
});
