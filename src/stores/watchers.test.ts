import { describe, expect, test } from 'vitest';
import { newKey } from '../testing/contract/contract-setup.ts';
import { newWakeSignal } from '../testing/contract/wake-signal.ts';
import { joined, Watchers } from './watchers.ts';

describe('changes', () => {
  test('[WAKE2, QUEUE5] of one session are told as one: the newest event, and whether any calls for work', () => {
    const key = newKey();
    const [note, call, release] = [
      { ...key, seq: 9, work: false },
      { ...key, seq: 8, work: true },
      { ...key, seq: 5, work: true },
    ];
    expect(joined(undefined, note)).toEqual(note);
    expect(joined(note, release)).toEqual({ ...key, seq: 9, work: true });
    expect(joined(call, note)).toEqual({ ...key, seq: 9, work: true });
  });
});

describe('watchers', () => {
  test('[QUEUE5, WAKE2] many changes wake a worker once, and a repeated one no follower', async () => {
    const watchers = new Watchers();
    const key = newKey();
    const [worker, follower] = [newWakeSignal(), newWakeSignal()];
    const stops = [watchers.addWorker(key.workspace, worker.wake), watchers.add(key, follower.wake)];
    const change = { ...key, seq: 2, work: true };
    watchers.wake([change, { ...newKey(key.workspace), seq: 1, work: true }, { ...newKey(), seq: 1, work: true }]);
    await Promise.all([worker.next(), follower.next()]);
    watchers.wake([change]);
    await worker.next();
    expect([worker.count, follower.count]).toEqual([2, 1]);
    expect(stops.map((stop) => stop())).toEqual([true, true]);
    expect(stops.map((stop) => stop())).toEqual([false, false]);
    expect(watchers.any).toBe(false);
  });
});
