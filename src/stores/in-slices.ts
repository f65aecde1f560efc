import { setImmediate as nextTurn } from 'node:timers/promises';

const sliceItems = 16;

/**
 * Resolves the callers of one batch a few at a time. If all of them continued in the same tick, their work together
 * would block the event loop. The first callers can also send their next requests while later callers still wait.
 */
export const inSlices = async <T>(
  items: readonly T[],
  answer: (item: T) => void,
  most: number = sliceItems,
): Promise<void> => {
  const size = Math.min(most, sliceItems);
  for (const [place, item] of items.entries()) {
    if (place > 0 && place % size === 0) await nextTurn();
    answer(item);
  }
};
