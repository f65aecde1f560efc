import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRuntime, type Runtime, type SessionChange } from '../../src/index.ts';
import { openMemoryStore } from '../../src/testing/memory-store.ts';
import { overrideStore } from '../support/stores/override-store.ts';
import { runtimeKinds, runtimePlace } from '../support/stores/runtime-places.ts';

const nextOf = async (changes: AsyncGenerator<SessionChange, void, void>) => (await changes.next()).value;

describe.each(runtimeKinds)('changes of a workspace on %s', (kind) => {
  let place: Awaited<ReturnType<typeof runtimePlace>>;
  let [runtime, other]: Runtime[] = [];
  beforeAll(async () => {
    place = await runtimePlace(kind);
    [runtime, other] = [await place.open(), await place.open()];
  });
  afterAll(async () => {
    await Promise.all([runtime!.close(), other!.close()]);
    await place.remove();
  });

  test('[WAKE5] report each session that changes after the request, whichever process changes it', async () => {
    const [ours, theirs] = [await runtime!.sessions.open(), await other!.sessions.open()];
    const head = async (session: typeof ours) => ({ session: session.id, head: (await session.summary()).seq });
    const changes = runtime!.changes({ after: Date.now() + 60_000 });
    const first = nextOf(changes);
    for (const session of [ours, theirs]) {
      const heard = session === ours ? first : nextOf(changes);
      await session.append({ role: 'user', content: 'a' });
      // A hint may arrive late and report an earlier change.
      let reported = await heard;
      while (reported?.session !== session.id || reported.head < (await head(session)).head)
        reported = await nextOf(changes);
      expect(reported).toMatchObject(await head(session));
    }
    await changes.return();
  });

  test('[WAKE5] report what changed since a given time, newest first and each session once', async () => {
    const scoped = runtime!.as({ workspace: 'since', member: 'ann' });
    const before = await scoped.sessions.open();
    const after = (await before.summary()).updatedAt + 1;
    while (Date.now() <= after) await new Promise(setImmediate);
    const later = [await scoped.sessions.open(), await scoped.sessions.open()];
    await later[0]!.append({ role: 'user', content: 'x' });
    const reported = new Set<string>();
    for await (const { session } of scoped.changes({ after })) {
      expect(reported.has(session)).toBe(false);
      reported.add(session);
      if (reported.size === 2) break;
    }
    expect(reported).toEqual(new Set(later.map(({ id }) => id)));
  });

  test('[WAKE5, WAKE3] end immediately when the reader returns, when their abort signal fires and when the runtime closes', async () => {
    const closing = await place.open();
    const leaving = new AbortController();
    const [left, signalled, closed] = [
      runtime!.as({ workspace: 'quiet', member: 'ann' }).changes(),
      runtime!.as({ workspace: 'quiet', member: 'ann' }).changes({ signal: leaving.signal }),
      closing.as({ workspace: 'quiet', member: 'ann' }).changes(),
    ];
    const waiting = [left, signalled, closed].map((each) => each.next());
    await left.return();
    leaving.abort();
    await closing.close();
    expect(await Promise.all(waiting)).toEqual([1, 2, 3].map(() => ({ done: true, value: undefined })));
    expect(() => runtime!.changes({ after: -1 })).toThrow(expect.objectContaining({ code: 'INVALID_INPUT' }));
  });
});

test('[WAKE10] return only the newest head of each session to a slow reader', async () => {
  const runtime = await openRuntime({ store: openMemoryStore() });
  const sessions = await Promise.all(Array.from({ length: 3 }, () => runtime.sessions.open()));
  const changes = runtime.changes({ after: 0 });
  await nextOf(changes);
  for (const session of sessions) for (let i = 0; i < 50; i++) await session.append({ role: 'user', content: 'x' });
  const heads = new Map<string, number>();
  let count = 0;
  while (heads.size < 3 || [...heads.values()].some((head) => head < 51)) {
    const { session, head } = (await nextOf(changes))!;
    heads.set(session, head);
    count += 1;
  }
  expect(count).toBeLessThanOrEqual(5);
  await changes.return();
  await runtime.close();
});

test('[WAKE10] fall back to the listing when the buffer is full, so that no change is missed', async () => {
  const beside = openMemoryStore();
  let tell: (session: never, seq: number) => void = () => undefined;
  const store = overrideStore(beside, {
    watchWorkspace: (_, wake) => {
      tell = wake;
      return () => undefined;
    },
  });
  const runtime = await openRuntime({ store });
  const first = await runtime.sessions.open();
  const changes = runtime.changes();
  const unwanted = await runtime.sessions.open();
  expect((await nextOf(changes))?.session).toBe(unwanted.id);
  // Only the listing contains this session, because its hint is evicted by the others.
  const hidden = await runtime.sessions.open();
  tell(hidden.id as never, 1);
  for (let i = 0; i < 10_000; i++) tell(`ses_${i}` as never, 1);
  const reported = [await nextOf(changes), await nextOf(changes)].map((each) => each?.session);
  expect(reported).toContain(hidden.id);
  expect(reported).toContain(first.id);
  await changes.return();
  await runtime.close();
});

test('[WAKE9] a reader that stops anywhere and resumes from that time misses nothing, however long it was away', async () => {
  let time = 1_800_000_000_000;
  const runtime = await openRuntime({ store: openMemoryStore(), clock: { now: () => time } });
  const sessions = [await runtime.sessions.open(), await runtime.sessions.open(), await runtime.sessions.open()];
  time += 3_600_000;
  const listing = runtime.changes({ after: 0 });
  const first = (await nextOf(listing))!;
  await listing.return();
  const reported = new Set([first.session]);
  const rest = runtime.changes({ after: first.after });
  while (reported.size < 3) reported.add((await nextOf(rest))!.session);
  reported.clear();
  const hint = nextOf(rest);
  for (const session of sessions) await session.append({ role: 'user', content: 'x' });
  reported.add((await hint)!.session);
  time += 3_600_000;
  const last = (await nextOf(rest))!;
  reported.add(last.session);
  await rest.return();
  const again = runtime.changes({ after: last.after });
  while (reported.size < 3) reported.add((await nextOf(again))!.session);
  await again.return();
  await runtime.close();
}, 20_000);
