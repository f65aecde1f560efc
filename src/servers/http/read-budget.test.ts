import { expect, test } from 'vitest';
import { ReadBudget } from './read-budget.ts';

const limits = { freeMs: 0, perKey: 3, perWorkspace: 4, atOnce: 2, onServer: 3, verifyEvents: 10 };
const inA = { workspace: 'a', key: 'key_1' };

/** Whether a read has begun, once all that can begin have. */
const begun = async (turn: Promise<void>): Promise<boolean> => {
  let is = false;
  void turn.then(() => {
    is = true;
  });
  for (let microtask = 0; microtask < 20; microtask++) await Promise.resolve();
  return is;
};

test('[LOAD2] a key and a workspace have only so many long reads, until some leave', () => {
  const reads = new ReadBudget(limits);
  const [first] = [reads.enter(inA), reads.enter(inA), reads.enter(inA)];
  const limited = expect.objectContaining({ code: 'RATE_LIMITED', details: { retryAfterSeconds: 2 } });
  expect(() => reads.enter(inA)).toThrow(limited);
  const another = { ...inA, key: 'key_2' };
  reads.enter(another);
  expect(() => reads.enter(another)).toThrow(/the workspace has reached its limit of 4 long reads/);
  reads.enter({ workspace: 'b', key: 'key_1' });
  first!.leave();
  reads.enter(inA);
});

test('[LOAD2] few long reads run at a time, and a workspace with fewer goes first', async () => {
  const reads = new ReadBudget(limits);
  const [one, two, three] = [reads.enter(inA), reads.enter(inA), reads.enter(inA)];
  expect(await Promise.all([begun(one.turn()), begun(two.turn())])).toEqual([true, true]);
  const third = three.turn();
  expect(await begun(third)).toBe(false);
  const [b, c] = [
    { workspace: 'b', key: 'key_1' },
    { workspace: 'c', key: 'key_1' },
  ].map((each) => reads.enter(each));
  expect(await begun(b!.turn())).toBe(true);
  const inC = c!.turn();
  expect(await begun(inC)).toBe(false); // The server has its three.
  one.leave();
  expect([await begun(inC), await begun(third)]).toEqual([true, false]);
  two.leave();
  expect(await begun(third)).toBe(true);
});

test('[LOAD2, LOAD3] a read whose client leaves while it waits takes no place', async () => {
  const reads = new ReadBudget({ ...limits, atOnce: 1 });
  const [one, two, three] = [reads.enter(inA), reads.enter(inA), reads.enter(inA)];
  await one.turn();
  const leaving = new AbortController();
  const second = two.turn(leaving.signal);
  const third = three.turn();
  leaving.abort(new Error('left'));
  one.leave();
  await expect(second).rejects.toThrow('left');
  two.leave();
  expect(await begun(third)).toBe(true);
  await expect(reads.enter({ ...inA, workspace: 'b' }).turn(leaving.signal)).rejects.toThrow('left');
});
