import { describe, expect, test } from 'vitest';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { openRuntime } from '../../runtime.ts';
import { PerdureError } from '../../schema/error.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';

/** A store that fails after this many writes of records. */
const openFailing = async (writes: number) => {
  const database = newMemoryDatabase();
  const store = openMemoryStore(database);
  const warnings: unknown[] = [];
  let left = writes;
  const full = overrideStore(store, {
    writeRecords: async (...write) => {
      if (left-- > 0) return store.writeRecords(...write);
      throw new PerdureError('STORE_FULL', 'no room');
    },
  });
  const runtime = await openRuntime({ store: full, onWarning: (problem) => warnings.push(problem) });
  return { runtime, warnings, after: await openRuntime({ store: openMemoryStore(database) }) };
};

describe('the audit log', () => {
  test('[AUD3, AUD4] a verb is not executed if its audit entry cannot be written first', async () => {
    const { runtime, after } = await openFailing(0);
    await expect(runtime.gc()).rejects.toMatchObject({ code: 'STORE_FULL' });
    await expect(runtime.members.add({ id: 'ann' })).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(await after.members.list()).toEqual([]);
  });

  test('[AUD3] a verb whose outcome cannot be recorded still returns, its entry stays `asked`, and a warning is reported', async () => {
    const { runtime, warnings, after } = await openFailing(2);
    expect(await runtime.members.add({ id: 'ann' })).toMatchObject({ id: 'ann' });
    expect(warnings).toMatchObject([{ code: 'STORE_FULL' }]);
    expect((await after.audit.list()).entries.slice(1)).toMatchObject([{ verb: 'members.add', outcome: 'asked' }]);
  });
});
