import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import { newKey } from '../../src/testing/contract/contract-setup.ts';
import { expectSound } from '../../src/testing/contract/log/session-log.ts';
import { moduleUrl, runScript, type Script } from '../support/cli/run-script.ts';
import { beginSessions } from '../support/stores/begin-sessions.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newSqliteFile } from '../support/stores/sqlite-file.ts';
import { newStorePlace, type StoreKind, storeKinds } from '../support/stores/stores.ts';

const beginner = `
  import { createInterface } from 'node:readline';
  import { beginSessions } from ${moduleUrl('test/support/stores/begin-sessions.ts')};
  console.log('ready');
  for await (const line of createInterface({ input: process.stdin })) {
    const { address, keys } = JSON.parse(line);
    console.log(await beginSessions(address, keys).then(() => 'done', (error) => error.message));
  }
`;

const startBeginner = async (): Promise<Script> => {
  const script = runScript(beginner);
  onTestFinished(() => script.kill());
  expect(await script.line()).toBe('ready');
  return script;
};

const beginElsewhere = (script: Script, address: string, keys: readonly object[]): Promise<string | undefined> => {
  script.tell(JSON.stringify({ address, keys }));
  return script.line();
};

const newPlace = async (kind: StoreKind): Promise<string> => {
  const { address, remove } = await newStorePlace(kind);
  onTestFinished(remove);
  return address;
};

const expectSessions = async (address: string, keys: readonly ReturnType<typeof newKey>[]): Promise<void> => {
  const store = await openStoreAt(address);
  for (const key of keys) expect(await expectSound(store, key)).toHaveLength(1);
  await store.close();
};

/** Number of rounds; fewer for SQLite, because each of its stores starts two threads. */
const rounds: Record<StoreKind, number> = { sqlite: 2, postgres: 3 };

describe.each(storeKinds)('the first opening on %s', (kind) => {
  test('[ST1, ST4] eight concurrent openings of a new database, by four processes, create one schema, and all can write', async () => {
    const others = await Promise.all([startBeginner(), startBeginner(), startBeginner()]);
    for (let round = 0; round < rounds[kind]; round++) {
      const address = await newPlace(kind);
      const keys = Array.from({ length: 8 }, () => newKey());
      const begun = await Promise.all([
        ...others.map((other, index) => beginElsewhere(other, address, keys.slice(2 * index, 2 * index + 2))),
        beginSessions(address, keys.slice(6)),
      ]);
      expect(begun).toEqual(['done', 'done', 'done', undefined]);
      await expectSessions(address, keys);
    }
  });
});

test('[ST1, LOG2] a process killed while it creates a new file leaves one that the next process can open', async () => {
  for (let round = 0; round < 3; round++) {
    const file = newSqliteFile();
    const killed = await startBeginner();
    void beginElsewhere(killed, `sqlite:${file}`, [newKey()]);
    while (!existsSync(file)) await pause(1);
    await pause(6 * round);
    killed.kill();
    await killed.ended;
    const key = newKey();
    await beginSessions(`sqlite:${file}`, [key]);
    await expectSessions(`sqlite:${file}`, [key]);
  }
});
