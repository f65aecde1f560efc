import { setImmediate as nextTurn } from 'node:timers/promises';

const sliceItems = 16;

/**
 * Callers that are answered together go on together, and what they do next adds up. A few at a time keep the event loop free for others,
 * and what the first of them ask for is under way while the last still wait for their answer.
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
