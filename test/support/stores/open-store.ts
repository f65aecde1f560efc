import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';

/**
 * Opens the store at an address. Loads only the engine that the address needs, so that child processes start sooner.
 */
export const openStoreAt = async (address: string): Promise<RuntimeStore> => {
  if (address.startsWith('sqlite:')) {
    const { openSqliteStore } = await import('../../../src/stores/sqlite/index.ts');
    return openSqliteStore({ file: address.slice('sqlite:'.length) });
  }
  const { openPostgresStore } = await import('../../../src/stores/postgres/index.ts');
  return openPostgresStore({ url: address });
};
