import type { Queue } from '../src/core/ports/queue.ts';
import type { Store } from '../src/core/ports/store.ts';

/** Only the engine that is needed is loaded: child processes start sooner. */
export const openStoreAt = async (address: string): Promise<Store & Queue> => {
  if (address.startsWith('sqlite:')) {
    const { openSqliteStore } = await import('../src/stores/sqlite/index.ts');
    return openSqliteStore({ file: address.slice('sqlite:'.length) });
  }
  const { openPostgresStore } = await import('../src/stores/postgres/index.ts');
  return openPostgresStore({ url: address });
};
