import { describe, expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import type { FoldSnapshot } from '../ports/store.ts';
import type { SessionFold } from '../session/fold.ts';
import { type Landed, SessionFolds } from './session-folds.ts';

const workspace = 'local' as WorkspaceId;
const fail = (problem: unknown): never => {
  throw problem;
};

/** A store that counts reads of the log and lists the snapshots that were stored. */
const counting = (store: RuntimeStore) => {
  const counts = { events: 0 };
  const snapshots: FoldSnapshot[] = [];
  const counted: RuntimeStore = {
    ...store,
    read: async (key, range) => {
      const page = await store.read(key, range);
      counts.events += page.length;
      return page;
    },
    putSnapshot: async (key, snapshot) => {
      snapshots.push(snapshot);
      await store.putSnapshot(key, snapshot);
    },
  };
  return { store: counted, counts, snapshots };
};

const talk = async (
  store: RuntimeStore,
  policy: { everyEvents: number; everyBytes: number },
  texts: readonly string[],
) => {
  const runtime = await openRuntime({ store, snapshots: policy, onWarning: fail });
  const session = await runtime.sessions.open();
  for (const content of texts) await session.append({ role: 'user', content });
  return { runtime, session, key: { workspace, session: session.id } };
};

const landed = ({ hash }: SessionFold, events: readonly SessionEvent[]): Landed => ({
  outcome: { previous: Buffer.from(hash, 'hex') } as unknown as Landed['outcome'],
  events,
  bytes: 0,
});

describe('folds of sessions', () => {
  test('[FOLD6] a fold that was read during other appends does not replace a newer one', async () => {
    const store = openMemoryStore();
    let reading = Promise.withResolvers<void>();
    let go = Promise.resolve();
    const slow: RuntimeStore = {
      ...store,
      read: async (key, range) => {
        const page = await store.read(key, range);
        reading.resolve();
        await go;
        return page;
      },
    };
    const { session, key } = await talk(store, { everyEvents: 100, everyBytes: 1e9 }, ['one']);
    const folds = new SessionFolds(slow, { everyEvents: 100, everyBytes: 1e9 }, fail);
    const before = await folds.head(key);
    await session.append({ role: 'user', content: 'two' });
    const gate = Promise.withResolvers<void>();
    go = gate.promise;
    reading = Promise.withResolvers();
    const late = folds.head(key);
    await reading.promise;
    const two = (await Array.fromAsync(session.events({ after: before.seq }))) as readonly SessionEvent[];
    folds.advance(key, before, landed(before, two));
    const three = await session.append({ role: 'user', content: 'three' });
    const newest = await folds.recent(key);
    folds.advance(key, newest, landed(newest, three));
    gate.resolve();
    expect((await late).seq).toBe(before.seq + 1);
    expect((await folds.recent(key)).seq).toBe(before.seq + 2);
  });

  test('[FOLD2] opening reads no more events after a snapshot than the policy allows', async () => {
    const { store, counts, snapshots } = counting(openMemoryStore());
    const policy = { everyEvents: 10, everyBytes: 1e9 };
    const { key } = await talk(
      store,
      policy,
      Array.from({ length: 94 }, (_, index) => `${index}`),
    );
    await expect
      .poll(() => snapshots.map(({ seq }) => seq).toSorted((a, b) => a - b))
      .toEqual([10, 20, 30, 40, 50, 60, 70, 80, 90]);
    counts.events = 0;
    const folds = new SessionFolds(store, policy, fail);
    expect((await folds.head(key)).seq).toBe(95);
    expect(counts.events).toBe(5);
    counts.events = 0;
    expect((await folds.at(key, 47)).seq).toBe(47);
    expect(counts.events).toBe(7);
  });

  test('[FOLD2] rewinds that refer to each other across snapshots are followed once each', async () => {
    const { store, counts } = counting(openMemoryStore());
    const policy = { everyEvents: 10, everyBytes: 1e9 };
    const { session, key } = await talk(store, policy, ['begin']);
    const loops = 12;
    for (let point = 1, loop = 0; loop < loops; loop++) {
      // One append, so that the snapshot is taken at its end and both rewinds follow it.
      await session.append(Array.from({ length: 12 }, () => ({ role: 'user' as const, content: 'more' })));
      await session.rewind({ to: { seq: point } });
      await session.append({ role: 'user', content: 'once more' });
      await session.rewind({ to: { seq: point } });
      point = (await session.append({ role: 'user', content: 'on' })).at(-1)!.seq;
    }
    counts.events = 0;
    await new SessionFolds(store, policy, fail).head(key);
    expect(counts.events).toBeLessThan(2 * loops * policy.everyEvents);
  });

  test('[FOLD2] opening a session and assembling its context reads the log once', async () => {
    const database = newMemoryDatabase();
    const snapshots = { everyEvents: 100, everyBytes: 1e9 };
    const texts = Array.from({ length: 150 }, (_, index) => `${index}`);
    const { session } = await talk(openMemoryStore(database), snapshots, texts);
    let looks = 0;
    const store = openMemoryStore(database);
    const watched: RuntimeStore = {
      ...store,
      read: (...asked) => {
        looks += 1;
        return store.read(...asked);
      },
    };
    const runtime = await openRuntime({ store: watched, snapshots, onWarning: fail });
    const { messages } = await (await runtime.sessions.get(session.id)).context();
    expect(messages).toHaveLength(150);
    expect(looks).toBe(1);
  });

  test('[FOLD2] concurrently appended facts are folded without reading the log again', async () => {
    const { store, counts } = counting(openMemoryStore());
    const { session, key } = await talk(store, { everyEvents: 1000, everyBytes: 1e9 }, ['first']);
    counts.events = 0;
    const texts = Array.from({ length: 20 }, (_, index) => `${index}`);
    await Promise.all(texts.map((content) => session.append({ role: 'user', content })));
    await session.append({ role: 'user', content: 'last' });
    expect(counts.events).toBe(0);
    const anew = await new SessionFolds(store, { everyEvents: 1000, everyBytes: 1e9 }, fail).head(key);
    expect(await session.state()).toMatchObject(anew.state);
    expect((await session.summary()).seq).toBe(anew.seq);
  });

  test('[FOLD2, FORK1] a chain of forks, each too short for a snapshot, also opens by reading a bounded tail', async () => {
    const { store, counts } = counting(openMemoryStore());
    const policy = { everyEvents: 10, everyBytes: 1e9 };
    let { session: newest } = await talk(store, policy, []);
    for (let depth = 0; depth < 20; depth++) {
      for (const content of ['a', 'b', 'c']) {
        await newest.append([
          { role: 'user', content },
          { role: 'assistant', content },
        ]);
      }
      newest = await newest.fork(depth % 2 === 0 ? {} : { at: { turn: 3 * depth } });
    }
    const readOnOpening = async (): Promise<number> => {
      counts.events = 0;
      await new SessionFolds(store, policy, fail).head({ workspace, session: newest.id });
      return counts.events;
    };
    await expect.poll(readOnOpening).toBeLessThan(10); // Snapshots are written in the background.
  });

  test('[FOLD2] large events cause a snapshot sooner', async () => {
    const { store, snapshots } = counting(openMemoryStore());
    await talk(
      store,
      { everyEvents: 1000, everyBytes: 5000 },
      Array.from({ length: 12 }, () => 'x'.repeat(2000)),
    );
    await expect.poll(() => snapshots.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual([4, 7, 10, 13]);
  });

  test('[FOLD2] a log without snapshots gets snapshots when it is read', async () => {
    const database = newMemoryDatabase();
    const never = { everyEvents: 1e9, everyBytes: 1e9 };
    const { key } = await talk(
      openMemoryStore(database),
      never,
      Array.from({ length: 30 }, (_, index) => `${index}`),
    );
    const { store, counts, snapshots } = counting(openMemoryStore(database));
    const policy = { everyEvents: 10, everyBytes: 1e9 };
    const first = await new SessionFolds(store, policy, fail).head(key);
    await expect.poll(() => snapshots.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual([10, 20, 30]);
    counts.events = 0;
    expect(await new SessionFolds(store, policy, fail).head(key)).toEqual(first);
    expect(counts.events).toBe(1);
  });

  test('[FOLD2] a snapshot that cannot be stored causes a warning and loses nothing', async () => {
    const store = openMemoryStore();
    const warnings: unknown[] = [];
    const full = new Error('no room');
    const runtime = await openRuntime({
      worker: false,
      store: { ...store, putSnapshot: () => Promise.reject(full) },
      snapshots: { everyEvents: 2, everyBytes: 1e9 },
      onWarning: (problem) => warnings.push(problem),
    });
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'hello' });
    await runtime.close();
    expect(warnings).toEqual([full]);
  });

  test('[FOLD2] a failure to create a snapshot causes a warning, and the append before it is still acknowledged', async () => {
    const warnings: unknown[] = [];
    const unmakeable = new RangeError('Invalid string length');
    const store: RuntimeStore = {
      ...openMemoryStore(),
      putSnapshot: () => {
        throw unmakeable;
      },
    };
    const runtime = await openRuntime({
      store,
      snapshots: { everyEvents: 1, everyBytes: 1e9 },
      onWarning: (problem) => warnings.push(problem),
    });
    const session = await runtime.sessions.open();
    expect(await session.append({ role: 'user', content: 'hello' })).toHaveLength(1);
    await runtime.close();
    expect(warnings).toEqual([unmakeable, unmakeable]);
  });

  test('[FAULT1] a gap in the log is an error that names the event', async () => {
    const database = newMemoryDatabase();
    const policy = { everyEvents: 1e9, everyBytes: 1e9 };
    const { key, session } = await talk(openMemoryStore(database), policy, ['a', 'b', 'c']);
    database.workspaces.get(workspace)!.sessions.get(session.id)!.events.delete(3);
    const folds = new SessionFolds(openMemoryStore(database), policy, fail);
    await expect(folds.head(key)).rejects.toMatchObject({ code: 'EVENT_DAMAGED', details: { seq: 3 } });
  });

  test.each([3, 4, 50])(
    '[REW1, FAULT2] event 4 is damaged if it rewinds to event %i, which is not before it',
    async (to) => {
      const database = newMemoryDatabase();
      const policy = { everyEvents: 1e9, everyBytes: 1e9 };
      const { key, session } = await talk(openMemoryStore(database), policy, ['a', 'b']);
      await session.rewind({ to: { turn: 1 } });
      const { events } = database.workspaces.get(workspace)!.sessions.get(session.id)!;
      const rewound = events.get(4)!;
      const bytes = new TextEncoder().encode(JSON.stringify({ to, messages: 1 }));
      events.set(4, { ...rewound, body: { kind: 'bytes', salt: new Uint8Array(16), bytes } });
      const folding = new SessionFolds(openMemoryStore(database), policy, fail).head(key);
      if (to < 4) await expect(folding).resolves.toMatchObject({ seq: 4 });
      else await expect(folding).rejects.toMatchObject({ code: 'EVENT_DAMAGED', details: { seq: 4 } });
    },
  );
});
