import { PerdureError } from '../../../src/schema/error.ts';
import type { MemoryDatabase } from '../../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../../src/testing/memory-store.ts';
import { overrideStore } from './override-store.ts';

/** A store that fails for good at its append number `at`, like the store of a process that dies there. */
export const mortalStore = (database: MemoryDatabase, at: number, place: 'before' | 'after') => {
  const store = openMemoryStore(database);
  const died = Promise.withResolvers<void>();
  const dead = new PerdureError('STORE_UNAVAILABLE', 'this process is dead');
  let appends = 0;
  const mortal = overrideStore(store, {
    append: async (request) => {
      appends += 1;
      if (appends > at || (appends === at && place === 'before')) {
        died.resolve();
        throw dead;
      }
      const outcome = await store.append(request);
      if (appends < at) return outcome;
      died.resolve();
      throw dead;
    },
  });
  return { mortal, died: died.promise };
};
