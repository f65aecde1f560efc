import { expect, test } from 'vitest';
import { EventLoop } from './event-loop.ts';

/** A loop whose time and turns the test controls. */
const fakeLoop = () => {
  let now = 0;
  const turns: (() => void)[] = [];
  const timers: { readonly at: number; readonly call: () => void }[] = [];
  const loop = new EventLoop({
    elapsed: () => now,
    afterTurn: (call) => void turns.push(call),
    after: (ms, call) => void timers.push({ at: now + ms, call }),
  });
  const settle = async () => {
    for (let microtask = 0; microtask < 20; microtask++) await Promise.resolve();
  };
  return {
    loop,
    settle,
    work: (ms: number) => {
      now += ms;
    },
    /** Lets the loop turn once. */
    turn: async (ms = 0) => {
      now += ms;
      for (const timer of timers.splice(0)) {
        if (timer.at > now) timers.push(timer);
        else timer.call();
      }
      for (const call of turns.splice(0)) call();
      await settle();
    },
  };
};

test('[LOAD1] work goes on within its slice, and waits for a turn of the loop when the slice is over', async () => {
  const { loop, work, turn } = fakeLoop();
  expect(loop.slice()).toBeUndefined();
  work(0.5);
  expect(loop.slice()).toBeUndefined();
  work(0.6);
  let isResumed = false;
  void loop.slice()!.then(() => {
    isResumed = true;
  });
  await Promise.resolve();
  expect(isResumed).toBe(false);
  await turn();
  expect(isResumed).toBe(true);
  expect(loop.slice()).toBeUndefined();
});

test('[LOAD1] one slice runs in a turn of the loop, in turns between the owners', async () => {
  const { loop, work, turn, settle } = fakeLoop();
  const order: string[] = [];
  const walk = (owner: string) =>
    loop.during({ owner }, async () => {
      for (let step = 0; step < 3; step++) {
        await loop.slice();
        order.push(owner);
        work(2);
      }
    });
  const walks = [walk('a'), walk('a'), walk('a'), walk('b')];
  for (let turns = 0; turns < 15; turns++) {
    const before = order.length;
    await turn();
    if (turns > 0) expect(order.length - before).toBeLessThanOrEqual(1);
  }
  await settle();
  await Promise.all(walks);
  expect(order.indexOf('b')).toBeLessThan(4);
  expect(order.lastIndexOf('b')).toBeLessThan(10); // In the order of arrival it would be the last.
});

test('[LOAD1] long work rests while a short request is under way, but not for long', async () => {
  const { loop, work, turn } = fakeLoop();
  let steps = 0;
  const walk = loop.during({ owner: 'a' }, async () => {
    for (; steps < 3; steps++) {
      work(2);
      await loop.slice();
    }
  });
  await turn();
  const [short, waiting] = [Promise.withResolvers<void>(), steps];
  const request = loop.during({ owner: 'b' }, () => short.promise);
  await turn();
  await turn(1);
  expect(steps).toBe(waiting);
  await turn(4);
  await turn();
  expect(steps).toBe(waiting + 1); // The rest is over, although the request is not.
  short.resolve();
  await request;
  await turn(5);
  await turn();
  await turn();
  await walk;
});

test('[LOAD2] work asks for admission once, when its free time is over, and fails if it is refused', async () => {
  const { loop, work, turn } = fakeLoop();
  let asked = 0;
  const walk = async () => {
    for (let step = 0; step < 10; step++) {
      await loop.slice();
      work(1);
    }
  };
  const admit = async () => {
    asked += 1;
  };
  const admitted = loop.during({ admit, freeMs: 5 }, () => loop.during({}, walk).then(walk));
  for (let turns = 0; turns < 40; turns++) await turn();
  await admitted;
  expect(asked).toBe(1);
  const refused = loop.during({ admit: () => Promise.reject(new Error('too many')), freeMs: 5 }, walk);
  refused.catch(() => undefined);
  for (let turns = 0; turns < 20; turns++) await turn();
  await expect(refused).rejects.toThrow('too many');
});

test('[LOAD3] work stops at its next slice after its signal aborts, but what it started goes on', async () => {
  const { loop, work, turn } = fakeLoop();
  const leaving = new AbortController();
  let [steps, apart] = [0, 0];
  const count = async (add: () => void) => {
    for (let step = 0; step < 6; step++) {
      await loop.slice();
      add();
      work(1);
    }
  };
  let background: Promise<void> | undefined;
  const walk = loop.during({ signal: leaving.signal }, async () => {
    background = loop.apart(() => count(() => apart++));
    await count(() => steps++);
  });
  walk.catch(() => undefined);
  await turn();
  leaving.abort(new Error('left'));
  const stopped = steps;
  for (let turns = 0; turns < 20; turns++) await turn(5);
  await expect(walk).rejects.toThrow('left');
  await background;
  expect([steps, apart]).toEqual([stopped, 6]);
});

test('[LOAD7] few reads of an owner are in flight, the others wait, and no other owner does', async () => {
  const { loop, settle } = fakeLoop();
  const begun: string[] = [];
  const gates: (() => void)[] = [];
  const read = (owner: string, signal?: AbortSignal) =>
    loop.during({ owner, signal }, () =>
      loop.reading(async () => {
        begun.push(owner);
        await new Promise<void>((resolve) => gates.push(resolve));
      }),
    );
  const leaving = new AbortController();
  const reads = [read('a'), read('a'), read('a', leaving.signal), read('a'), read('b')];
  reads[2]!.catch(() => undefined);
  await settle();
  expect(begun).toEqual(['a', 'a', 'b']);
  leaving.abort(new Error('left'));
  gates.shift()!();
  await settle();
  expect(begun).toEqual(['a', 'a', 'b', 'a']);
  await expect(reads[2]).rejects.toThrow('left');
  for (const open of gates) open();
  await Promise.allSettled(reads);
});
