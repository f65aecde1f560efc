import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';
import { openMemoryStore } from '../../../src/testing/memory-store.ts';

/** A store with a competing writer: `interrupt` runs once, just before the next append. */
export const interruptedStore = () => {
  const beside = openMemoryStore();
  let work: (() => Promise<unknown>) | undefined;
  const store: RuntimeStore = {
    ...beside,
    append: async (request) => {
      const now = work;
      work = undefined;
      await now?.();
      return beside.append(request);
    },
  };
  const interrupt = (next: () => Promise<unknown>): void => {
    work = next;
  };
  return { store, beside, interrupt };
};
