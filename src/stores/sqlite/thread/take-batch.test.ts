import { expect, test } from 'vitest';
import type { Call } from './protocol.ts';
import { maxBatchBytes, maxBatchCalls, takeBatch } from './take-batch.ts';

let lastId = 0;
const append = (bytes: number): Call => ({
  id: ++lastId,
  op: 'append',
  args: [{ events: [{ payload: new Uint8Array(bytes) }] }],
});
const other = (): Call => ({ id: ++lastId, op: 'close', args: [] });

test('[LOG7] a transaction contains a bounded number of bytes, and the remaining appends wait in order', () => {
  const third = Math.floor(maxBatchBytes / 3);
  const queue = [append(third), append(third), append(third), append(third), append(1)];
  const ids = queue.map(({ id }) => id);
  expect(takeBatch(queue).map(({ id }) => id)).toEqual(ids.slice(0, 3));
  expect(takeBatch(queue).map(({ id }) => id)).toEqual(ids.slice(3));
  expect(queue).toEqual([]);
});

test('[LOG7] an append larger than the byte limit gets its own transaction', () => {
  const queue = [append(maxBatchBytes + 1), append(1)];
  expect(takeBatch(queue)).toHaveLength(1);
  expect(takeBatch(queue)).toHaveLength(1);
});

test('[LOG7] a transaction contains a bounded number of appends, and none from behind a call of another kind', () => {
  const queue = [...Array.from({ length: maxBatchCalls + 1 }, () => append(1)), other(), append(1)];
  expect(takeBatch(queue)).toHaveLength(maxBatchCalls);
  expect(takeBatch(queue)).toHaveLength(1);
  expect(queue.map(({ op }) => op)).toEqual(['close', 'append']);
});
