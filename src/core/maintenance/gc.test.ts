import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { contentOf, filesOf, keepArtifact, putFiles, snapshotFiles } from '../../../test/support/files/named-files.ts';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { openRuntime } from '../../runtime.ts';
import { type SessionId, systemActor, type WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { emptyTree } from '../files/tree.ts';
import type { NewBlob } from '../ports/blobs.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';

const workspace = 'local' as WorkspaceId;
const day = 24 * 3_600_000;

const put = (store: RuntimeStore, blobs: readonly NewBlob[]) => putFiles(store, workspace, blobs);
const snapshot = (store: RuntimeStore, session: SessionId, blobs: readonly NewBlob[]) =>
  snapshotFiles(store, { workspace, session }, blobs);

const begin = async (wrap: (store: RuntimeStore) => RuntimeStore = (store) => store) => {
  const database = newMemoryDatabase();
  const beside = openMemoryStore(database);
  const runtime = await openRuntime({ store: wrap(openMemoryStore(database)) });
  const { id } = await runtime.sessions.open();
  const kept = () => database.workspaces.get(workspace)!.blobs;
  const age = (ms = 2 * day): void => {
    const { blobTimes } = database.workspaces.get(workspace)!;
    for (const [hash, at] of blobTimes) blobTimes.set(hash, at - ms);
  };
  const has = (blobs: readonly NewBlob[]): boolean => blobs.every(({ hash }) => kept().has(hash));
  return { beside, runtime, id, kept, age, has };
};

const one = filesOf({ 'a/b/c': 'one', d: 'same' });
const two = filesOf({ 'a/b/c': 'two', d: 'same' });
const loose = filesOf({ 'x/y': 'loose', z: 'same' });

describe('a collection', () => {
  test('[GC2, GC10] keeps every blob that events name: all snapshots, also rewound ones and those of forks, and artifacts', async () => {
    const { beside, runtime, id, age, has, kept } = await begin();
    const session = await runtime.sessions.get(id);
    const artifact = contentOf('artifact');
    await put(beside, [...one, ...two, ...loose, artifact]);
    await snapshot(beside, id, one);
    const fork = await session.fork();
    await snapshot(beside, fork.id, two);
    await keepArtifact(beside, { workspace, session: fork.id }, 'a', artifact);
    await session.rewind({ to: { seq: 1 } });
    await session.close();
    await session.archive();
    age();
    const named = new Set([...one, ...two, artifact].map(({ hash }) => hash));
    const gone = loose.filter(({ hash }) => !named.has(hash));
    const garbage = { blobs: gone.length, bytes: gone.reduce((sum, { bytes }) => sum + bytes.length, 0) };
    const none = { blobs: 0, bytes: 0 };
    const expected = { named: named.size, young: none, garbage, worktrees: [] };
    expect(await runtime.gc({ dryRun: true })).toEqual({ ...expected, removed: none });
    expect(has(loose)).toBe(true);
    expect(await runtime.gc()).toEqual({ ...expected, removed: garbage });
    expect(new Set(kept().keys())).toEqual(named);
    expect(await runtime.gc()).toEqual({ ...expected, garbage: none, removed: none });
  });

  test('[GC2] keeps the contents of a tree whose bytes also occur as a file, whichever is found first', async () => {
    const bytes = one.at(-1)!.bytes.toString();
    for (const disguised of [filesOf({ a: bytes }), filesOf({ z: bytes })]) {
      for (const order of [
        [disguised, one],
        [one, disguised],
      ] as const) {
        const { beside, runtime, id, age, has } = await begin();
        for (const blobs of order) {
          await put(beside, blobs);
          await snapshot(beside, id, blobs);
        }
        age();
        expect(await runtime.gc()).toMatchObject({ named: one.length + 1, garbage: { blobs: 0 } });
        expect(has(one)).toBe(true);
      }
    }
  });

  test('[GC2] affects only its own workspace', async () => {
    const { beside, runtime, age, has } = await begin();
    await put(beside, loose);
    age();
    await runtime.as({ workspace: 'other', member: 'ann', role: 'admin' }).gc({ graceMs: 0 });
    expect(has(loose)).toBe(true);
  });

  test('[GC2, GC10] keeps payload blobs, and reports its progress', async () => {
    const { beside, runtime, id, age } = await begin();
    const session = await runtime.sessions.get(id);
    await session.append({ role: 'user', content: 'x'.repeat(40_000) });
    await put(beside, [...one, ...loose, emptyTree]);
    await snapshot(beside, id, one);
    age();
    const seen: unknown[] = [];
    const { removed, named } = await runtime.gc({ onProgress: (progress) => seen.push(progress) });
    expect(seen.at(-1)).toEqual({ named, looked: named + removed.blobs + 1, removed: removed.blobs });
    expect(await session.verify()).toMatchObject({ ok: true });
    expect(await beside.readBlob(workspace, emptyTree.hash)).toBeDefined();
  });

  test('[GC3] keeps a blob that was put or requested within the grace, and removes it afterwards', async () => {
    const { beside, runtime, age, has } = await begin();
    await put(beside, loose);
    age(day - 60_000);
    expect(await runtime.gc()).toMatchObject({ young: { blobs: loose.length }, garbage: { blobs: 0 } });
    expect(has(loose)).toBe(true);
    expect(await runtime.gc({ graceMs: day / 2 })).toMatchObject({ removed: { blobs: loose.length } });
  });

  test("[GC3] measures the grace by the store's clock", async () => {
    const { beside, runtime, has } = await begin((store) =>
      overrideStore(store, { now: async () => Date.now() + 2 * day }),
    );
    await put(beside, loose);
    await runtime.gc();
    expect(has(loose)).toBe(false);
  });
});

/** A bundle of another store's session that has these files. */
const bundleOf = async (blobs: readonly NewBlob[]) => {
  const { beside, runtime, id } = await begin();
  await put(beside, blobs);
  await snapshot(beside, id, blobs);
  const bytes = Buffer.concat(await Array.fromAsync(runtime.sessions.export([id])));
  return async function* () {
    yield bytes;
  };
};

test('[GC3, BUN5] a collection that runs after an import stored its blobs and before it wrote its events removes none of them', async () => {
  const bundle = await bundleOf(one);
  let collected: unknown;
  const { beside, runtime, age, has } = await begin((store) =>
    overrideStore(store, {
      importCopies: async (...asked) => {
        collected = await other.gc();
        return store.importCopies(...asked);
      },
    }),
  );
  const other = await openRuntime({ store: beside });
  await put(beside, [...one, ...loose]);
  age();
  await runtime.sessions.import(bundle());
  expect(collected).toMatchObject({ young: { blobs: one.length }, removed: { blobs: loose.length - 1 } });
  expect(has(one)).toBe(true);
});

type Step = 'now' | 'findBlobEvents' | 'looseBlobs' | 'hasBlobs' | 'removeBlobs';

/**
 * A collection that another process interrupts: `at` schedules work that runs once, just before or after the next call
 * of the named step.
 */
const interrupted = async () => {
  let due: { step: Step; when: 'before' | 'after'; work: () => Promise<unknown> } | undefined;
  const take = async (step: Step, when: 'before' | 'after') => {
    const now = due?.step === step && due.when === when ? due : undefined;
    if (now) due = undefined;
    await now?.work();
  };
  const stopping =
    (store: RuntimeStore, step: Step) =>
    async (...args: readonly unknown[]) => {
      await take(step, 'before');
      const result = await (store[step] as (...args: readonly unknown[]) => Promise<unknown>)(...args);
      await take(step, 'after');
      return result;
    };
  const begun = await begin((store) =>
    overrideStore(
      store,
      Object.fromEntries(
        (['now', 'findBlobEvents', 'looseBlobs', 'removeBlobs'] as const).map((step) => [step, stopping(store, step)]),
      ),
    ),
  );
  const at = (when: 'before' | 'after', step: Step, work: () => Promise<unknown>): void => {
    due = { step, when, work };
  };
  return { ...begun, at, wasThere: () => due === undefined };
};

/** Waits until the clock has advanced. */
const untilLater = async (): Promise<void> => {
  for (const now = Date.now(); Date.now() <= now + 1; ) await setImmediate();
};

const moments = (['now', 'findBlobEvents', 'looseBlobs', 'removeBlobs'] as const).flatMap((step) => [
  ['before', step] as const,
  ['after', step] as const,
]);

describe.each(moments)('during a collection, %s %s', (when, step) => {
  test('[GC3, GC6] a snapshot loses no blob, even if no event named its blobs for a long time', async () => {
    const { beside, runtime, id, age, at, has, wasThere } = await interrupted();
    await put(beside, [...one, ...loose]);
    age();
    at(when, step, async () => {
      await put(beside, one);
      await snapshot(beside, id, one);
      await untilLater();
    });
    await runtime.gc({ graceMs: 0 });
    expect({ wasThere: wasThere(), isKept: has(one) }).toEqual({ wasThere: true, isKept: true });
    expect(await (await runtime.sessions.get(id)).verify()).toMatchObject({ ok: true });
  });

  test('[GC3] a snapshot appended only after the collection loses no blob', async () => {
    const { beside, runtime, id, age, at, has } = await interrupted();
    await put(beside, [...one, ...loose]);
    age();
    at(when, step, () => put(beside, one));
    await runtime.gc();
    await snapshot(beside, id, one);
    expect(has(one)).toBe(true);
  });

  test('[GC3, GC6] a restore to an old snapshot and a fork lose no blob, because the log already names them', async () => {
    const { beside, runtime, id, age, at, has } = await interrupted();
    const session = await runtime.sessions.get(id);
    await put(beside, [...one, ...two, ...loose]);
    await snapshot(beside, id, one);
    await snapshot(beside, id, two);
    age();
    at(when, step, async () => {
      await snapshot(beside, id, one);
      await session.fork({ at: { seq: 2 } });
    });
    await runtime.gc();
    expect(has([...one, ...two])).toBe(true);
  });

  test('[GC3, GC6, BUN5] an import loses no blob, even if no event named its blobs for a long time', async () => {
    const { beside, runtime, age, at, has, wasThere } = await interrupted();
    const bundle = await bundleOf(one);
    await put(beside, [...one, ...loose]);
    age();
    const other = await openRuntime({ store: beside });
    at(when, step, async () => {
      await other.sessions.import(bundle());
      await untilLater();
    });
    await runtime.gc({ graceMs: 0 });
    expect({ wasThere: wasThere(), isKept: has(one) }).toEqual({ wasThere: true, isKept: true });
  });

  test('[GC3] two concurrent collections together remove the same blobs as one would', async () => {
    const { beside, runtime, id, age, at, has, kept } = await interrupted();
    const other = await openRuntime({ store: beside });
    await put(beside, [...one, ...loose]);
    await snapshot(beside, id, one);
    age();
    let removed = 0;
    at(when, step, async () => {
      removed = (await other.gc()).removed.blobs;
    });
    const collected = await runtime.gc();
    removed += collected.removed.blobs;
    expect(has(one)).toBe(true);
    expect(kept().size).toBe(one.length);
    expect(removed).toBe(loose.length - 1);
  });
});

describe('a collection with incomplete data', () => {
  const damage = async (spoil: (store: ReturnType<Awaited<ReturnType<typeof begin>>['kept']>) => void) => {
    const begun = await begin();
    const { beside, id, kept, age } = begun;
    await put(beside, [...one, ...two, ...loose]);
    await snapshot(beside, id, one);
    await snapshot(beside, id, two);
    age();
    spoil(kept());
    return { ...begun, before: new Set(kept().keys()) };
  };
  const inTwo = (path: string): string => ({ 'a/b/c': two[0]!, 'a/b': two[2]!, a: two[3]!, '': two[4]! })[path]!.hash;

  test.each(['', 'a', 'a/b', 'a/b/c'])(
    '[GC4] removes nothing when %j is missing, and names the session and event',
    async (path) => {
      const { runtime, id, kept, before } = await damage((blobs) => blobs.delete(inTwo(path)));
      for (const dryRun of [true, false]) {
        await expect(runtime.gc({ dryRun })).rejects.toMatchObject({
          code: 'STORE_CORRUPT',
          message: expect.stringContaining('nothing was removed'),
          details: { session: id, seq: 3, path, blob: inTwo(path) },
        });
      }
      expect(new Set(kept().keys())).toEqual(before);
    },
  );

  test('[GC4] removes nothing when a tree has wrong bytes or is not a tree', async () => {
    for (const bytes of [Buffer.from('other'), two[2]!.bytes.subarray(1)]) {
      const { runtime, id, kept, before } = await damage((blobs) => blobs.set(inTwo('a/b'), bytes));
      await expect(runtime.gc()).rejects.toMatchObject({
        code: 'STORE_CORRUPT',
        details: { session: id, seq: 3, path: 'a/b' },
      });
      expect(new Set(kept().keys())).toEqual(before);
    }
  });

  test('[GC4] removes nothing when an event is unreadable or of a future release', async () => {
    for (const [code, change] of [
      ['EVENT_DAMAGED', { payload: Buffer.from('{}') }],
      ['EVENT_UNSUPPORTED', { version: 99 }],
    ] as const) {
      const { runtime, beside, id, before, kept } = await damage(() => undefined);
      const event = {
        type: 'files.snapshotted',
        version: 1,
        turn: 0,
        actor: systemActor,
        payload: Buffer.from('{}'),
      } as const;
      const request = { workspace, session: id, writer: { kind: 'outside' }, at: 1 } as const;
      await beside.append({ ...request, events: [{ ...event, ...change }] });
      await expect(runtime.gc()).rejects.toMatchObject({ code });
      expect(new Set(kept().keys())).toEqual(before);
    }
  });

  test('[GC4] stops removing when its runtime closes', async () => {
    const { beside, age, runtime, has } = await begin((store) =>
      overrideStore(store, {
        looseBlobs: (...asked) => {
          closing ??= runtime.close();
          return store.looseBlobs(...asked);
        },
      }),
    );
    let closing: Promise<void> | undefined;
    await put(beside, loose);
    age();
    await expect(runtime.gc()).rejects.toMatchObject({ code: 'RUNTIME_CLOSED' });
    await closing;
    expect(has(loose)).toBe(true);
  });
});
