import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { newKey } from '../../testing/contract/contract-setup.ts';
import { newWakeSignal } from '../../testing/contract/waking/wake-signal.ts';
import { joined, Watchers } from './watchers.ts';

describe('changes', () => {
  test('[WAKE2, QUEUE5] joining two changes of a session keeps the newest seq and whether either calls for work', () => {
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
  test('[QUEUE5, WAKE2] many changes wake a worker once, and a repeated change does not wake a follower again', async () => {
    const watchers = new Watchers();
    const key = newKey();
    const [worker, follower] = [newWakeSignal(), newWakeSignal()];
    const stops = [watchers.addWorker(key.workspace, worker.wake), watchers.add(key, follower.wake)];
    const change = { ...key, seq: 2, work: true };
    watchers.committed([change, { ...newKey(key.workspace), seq: 1, work: true }, { ...newKey(), seq: 1, work: true }]);
    await Promise.all([worker.next(), follower.next()]);
    watchers.hinted([change]);
    await worker.next();
    expect([worker.count, follower.count]).toEqual([2, 1]);
    expect(stops.map((stop) => stop())).toEqual([true, true]);
    expect(stops.map((stop) => stop())).toEqual([false, false]);
    expect(watchers.any).toBe(false);
  });

  test('[WAKE7] a wrong hint never suppresses a wake-up from a commit, a later hint or a poll', async () => {
    const watchers = new Watchers();
    const key = newKey();
    const follower = newWakeSignal();
    watchers.add(key, follower.wake);
    const at = (seq: number) => [{ ...key, seq, work: false }];
    const rings = async (tell: () => void) => {
      const before = follower.count;
      tell();
      await nextTurn();
      return follower.count > before;
    };
    for (const wrong of [9e15, 2, Number.NaN]) {
      watchers.hinted(at(wrong));
      for (const tell of [() => watchers.committed(at(2)), () => watchers.found(at(wrong === 2 ? 3 : 2))]) {
        expect(await rings(tell)).toBe(true);
      }
      expect(await rings(() => watchers.hinted(at(2)))).toBe(false);
      expect(await rings(() => watchers.hinted(at(2)))).toBe(true);
      watchers.found(at(1));
    }
  });

  test('[WAKE6] after commits were lost, the commits that replace them wake a follower too', async () => {
    const watchers = new Watchers();
    const key = newKey();
    const follower = newWakeSignal();
    watchers.add(key, follower.wake);
    const at = (seq: number) => [{ ...key, seq, work: false }];
    watchers.committed([...at(8), ...at(9)]);
    watchers.hinted(at(9));
    watchers.committed(at(8));
    watchers.hinted(at(9));
    watchers.found(at(9));
    await nextTurn();
    expect(follower.count).toBe(5);
    watchers.found(at(9));
    await nextTurn();
    expect(follower.count).toBe(5);
  });
});
