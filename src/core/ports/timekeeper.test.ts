import { expect, test, vi } from 'vitest';
import { systemTimekeeper } from './timekeeper.ts';

const longMs = 2 ** 40;

test('a sleep resolves when its signal aborts, even if the signal was aborted before', async () => {
  const clock = systemTimekeeper();
  const leaving = new AbortController();
  const sleeping = clock.sleep(longMs, { signal: leaving.signal });
  leaving.abort(new Error('leaving'));
  await expect(sleeping).resolves.toBeUndefined();
  await expect(clock.sleep(longMs, { signal: leaving.signal })).resolves.toBeUndefined();
});

test('after() calls once, every() calls repeatedly, and a cancelled timer does not call', () => {
  vi.useFakeTimers();
  try {
    const clock = systemTimekeeper({ now: () => 7 });
    const rung: string[] = [];
    clock.after(10, () => rung.push('after'));
    const cancelAfter = clock.after(10, () => rung.push('cancelled'));
    const cancelEvery = clock.every(4, () => rung.push('every'));
    clock.after(longMs, () => rung.push('long'));
    cancelAfter();
    vi.advanceTimersByTime(10);
    cancelEvery();
    vi.advanceTimersByTime(10);
    expect(rung).toEqual(['every', 'every', 'after']);
    expect(clock.now()).toBe(7);
  } finally {
    vi.useRealTimers();
  }
});

test('a timeout aborts its signal with a TimeoutError', async () => {
  const signal = systemTimekeeper().timeout(1);
  await new Promise((resolve) => signal.addEventListener('abort', resolve));
  expect(signal.reason).toMatchObject({ name: 'TimeoutError' });
});
