import type { SessionKey } from '../../../src/core/ports/store.ts';
import { openSession } from '../../../src/testing/contract/log/session-log.ts';
import { openStoreAt } from './open-store.ts';

/** Opens the store once per key, all at the same time; each opening begins its own session. */
export const beginSessions = async (address: string, keys: readonly SessionKey[]): Promise<void> => {
  await Promise.all(
    keys.map(async (key) => {
      const store = await openStoreAt(address);
      await openSession(store, key);
      await store.close();
    }),
  );
};
