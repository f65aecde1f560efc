import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { WorkspaceId } from '../../src/schema/ids.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const program = fileURLToPath(new URL('./records-process.ts', import.meta.url));
const kills = Math.ceil(Number(process.env.PERDURE_KILLS) / 4);

/** Returns the last count that was acknowledged before the kill. */
const writeUntilKilled = async (address: string): Promise<number> => {
  const child = fork(program, [address], { execArgv: [] });
  let last = 0;
  child.on('message', (count) => {
    last = Number(count);
  });
  const exited = once(child, 'exit');
  await once(child, 'message');
  await pause(Math.random() * 100);
  child.kill('SIGKILL');
  await exited;
  return last;
};

describe.each(storeKinds)('records on %s', (kind) => {
  test('[REC1, REC2] a killed process loses no acknowledged record and leaves no partial write', async () => {
    const place = await newStorePlace(kind);
    onTestFinished(() => place.remove());
    for (let round = 0; round < kills; round++) {
      const acknowledged = await writeUntilKilled(place.address);
      const store = await openStoreAt(place.address);
      const records = await store.records(WorkspaceId.parse('local'), 'member', { limit: 10 });
      await store.close();
      const [first, second, ...more] = records.map(({ body }) => Number(body));
      expect(second).toBe(first);
      expect(more).toEqual([]);
      // One more write may have landed whose acknowledgement died with the process.
      expect([acknowledged, acknowledged + 1]).toContain(first);
    }
  });
});
