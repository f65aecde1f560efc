import { describe, expect, test } from 'vitest';
import { newSqliteFile, openSqlite } from '../../../../test/support/stores/sqlite-file.ts';
import type { SessionCopy, SessionKey, Store } from '../../../core/ports/store.ts';
import { newKey, newWorkspace } from '../../../testing/contract/contract-setup.ts';
import { rawText } from '../../../testing/contract/log/new-events.ts';
import { expectSound, mustAppend, openSession, readAll } from '../../../testing/contract/log/session-log.ts';
import { claimOf, presenceOf } from '../../../testing/contract/queue/work-events.ts';

const copyOf = async (store: Store, key: SessionKey): Promise<SessionCopy> => ({
  session: key.session,
  events: await readAll(store, key),
  keys: await store.keys(key),
});

/** Yields the copy, and ends only when the test resolves or rejects `end`. */
const heldBack = (copy: SessionCopy) => {
  const given = Promise.withResolvers<void>();
  const end = Promise.withResolvers<void>();
  const copies = (async function* () {
    yield copy;
    given.resolve();
    await end.promise;
  })();
  return { copies, given: given.promise, end };
};

describe('an import in progress', () => {
  test('[LOG3] an import in progress is invisible to reads, and waiting appends land after it', async () => {
    const store = await openSqlite(newSqliteFile());
    const key = newKey();
    await openSession(store, key);
    const workspace = newWorkspace();
    const copied = { workspace, session: key.session };
    const { copies, given, end } = heldBack(await copyOf(store, key));
    const order: string[] = [];
    const importing = store.importCopies(workspace, copies).then(() => order.push('import'));
    await given;
    const appending = mustAppend(store, key, [rawText('a')]).then(() => order.push('append'));
    const snapshotting = store.putSnapshot(key, { seq: 1, foldVersion: 1, parts: {} });
    expect((await store.list(workspace, { limit: 10 })).sessions).toEqual([]);
    expect(await store.head(copied)).toBeUndefined();
    expect(await readAll(store, key)).toHaveLength(1);
    end.resolve();
    await Promise.all([importing, appending, snapshotting]);
    expect(order).toEqual(['import', 'append']);
    await expectSound(store, copied);
    expect(await expectSound(store, key)).toHaveLength(2);
  });

  test('[LOG3, ST3] a failed import leaves nothing, waiting writes continue, and close waits for both', async () => {
    const file = newSqliteFile();
    const store = await openSqlite(file);
    const key = newKey();
    await openSession(store, key);
    const workspace = newWorkspace();
    const { copies, given, end } = heldBack(await copyOf(store, key));
    const importing = store.importCopies(workspace, copies);
    await given;
    const appending = mustAppend(store, key, [rawText('a')]);
    const second = store.importCopies(newWorkspace(), (async function* () {})());
    const closing = store.close();
    end.reject(new Error('the file ended too soon'));
    await expect(importing).rejects.toThrow('the file ended too soon');
    await appending;
    expect(await second).toEqual({ sessions: [] });
    await closing;
    const again = await openSqlite(file);
    expect((await again.list(workspace, { limit: 10 })).sessions).toEqual([]);
    expect(await expectSound(again, key)).toHaveLength(2);
  });

  test('[ST16] writes that wait for an import run before an import that was requested later', async () => {
    const store = await openSqlite(newSqliteFile());
    const key = newKey();
    await openSession(store, key);
    const { workspace } = key;
    const [first, second] = [heldBack(await copyOf(store, key)), heldBack(await copyOf(store, key))];
    const imports = [store.importCopies(newWorkspace(), first.copies)];
    await first.given;
    const writes = [
      mustAppend(store, key, [rawText('a')]),
      store.writeRecords(workspace, [{ kind: 'member', id: 'm', onVersion: 0, body: {} }]),
      store.hasBlobs(workspace, []),
      store.putSnapshot(key, { seq: 1, foldVersion: 1, parts: {} }),
      store.touch(presenceOf('w1'), { held: [], forMs: 1 }),
      store.claim(claimOf('w1', { workspace })),
      store.leave('w1'),
      store.rebuildProjections(workspace),
    ];
    imports.push(store.importCopies(newWorkspace(), second.copies));
    first.end.resolve();
    await Promise.all(writes);
    const late = mustAppend(store, key, [rawText('b')]);
    second.end.resolve();
    await Promise.all([...imports, late]);
    expect(await expectSound(store, key)).toHaveLength(3);
  });
});
