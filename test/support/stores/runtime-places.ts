import { openRuntime, type Runtime, type RuntimeOptions } from '../../../src/index.ts';
import { newMemoryDatabase } from '../../../src/testing/memory-database.ts';
import { openMemoryStore } from '../../../src/testing/memory-store.ts';
import { newStorePlace, storeKinds } from './stores.ts';

export const runtimeKinds = ['memory', ...storeKinds] as const;

/** A new store on which several runtimes can be opened, as several processes would. */
export interface RuntimePlace {
  open(options?: Omit<RuntimeOptions, 'store'>): Promise<Runtime>;
  remove(): Promise<void>;
}

export const runtimePlace = async (kind: (typeof runtimeKinds)[number]): Promise<RuntimePlace> => {
  if (kind === 'memory') {
    const database = newMemoryDatabase();
    return {
      open: (options) => openRuntime({ worker: false, ...options, store: openMemoryStore(database) }),
      remove: async () => undefined,
    };
  }
  const place = await newStorePlace(kind);
  return { open: (options) => openRuntime({ worker: false, ...options, store: place.address }), remove: place.remove };
};
