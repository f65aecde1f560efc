import { expect, test } from 'vitest';
import { KeyedMutex, Mutex } from './mutex.ts';

/** A task that records when it begins and ends. It ends when the test releases it. */
const watched = () => {
  const notes: string[] = [];
  const work = (name: string) => {
    const released = Promise.withResolvers<string>();
    const run = async () => {
      notes.push(`${name} begins`);
      try {
        return await released.promise;
      } finally {
        notes.push(`${name} ends`);
      }
    };
    return { run, ...released };
  };
  return { notes, work };
};

test('a mutex runs tasks in the order of the calls, and continues after a failed task', async () => {
  const { notes, work } = watched();
  const mutex = new Mutex();
  const [first, second] = [work('first'), work('second')];
  const results = Promise.allSettled([mutex.run(first.run), mutex.run(second.run)]);
  second.resolve('done');
  first.reject(new Error('broken'));
  expect(await results).toEqual([
    { status: 'rejected', reason: new Error('broken') },
    { status: 'fulfilled', value: 'done' },
  ]);
  expect(notes).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
});

test('tasks under different keys run at the same time, and settle waits for all of them', async () => {
  const { notes, work } = watched();
  const mutex = new KeyedMutex<string>();
  const [a, again, b] = [work('a'), work('a again'), work('b')];
  const results = [mutex.run('a', a.run), mutex.run('a', again.run), mutex.run('b', b.run)];
  b.resolve('b');
  expect(await results[2]).toBe('b');
  expect(notes).toEqual(['a begins', 'b begins', 'b ends']);
  a.resolve('a');
  again.resolve('again');
  await mutex.settle();
  expect(notes.at(-1)).toBe('a again ends');
  expect(await Promise.all(results)).toEqual(['a', 'again', 'b']);
});
