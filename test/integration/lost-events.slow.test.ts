import { describe, expect, onTestFinished, test } from 'vitest';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { newStorePlace, type StoreKind, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const newPlace = async (kind: StoreKind): Promise<StorePlace> => {
  const place = await newStorePlace(kind);
  onTestFinished(() => place.remove());
  return place;
};

const open = async ({ address }: StorePlace) => {
  const warnings: unknown[] = [];
  const runtime = await openRuntime({ store: address, onWarning: (problem) => warnings.push(problem) });
  onTestFinished(() => runtime.close());
  return { runtime, warnings };
};

const say = (session: Session, text: string) => session.append({ role: 'user', content: text });
const textsOf = (events: readonly { readonly payload: unknown }[]): readonly string[] =>
  events.map(({ payload }) => JSON.stringify(payload));

const entriesOf = async (runtime: Runtime) =>
  (await runtime.audit.list()).entries.filter(({ verb }) => verb === 'store.wentBack');

/** A session whose first runtime has seen two events more than the store has now. */
const loseTwo = async (place: StorePlace) => {
  const { runtime, warnings } = await open(place);
  const session = await runtime.sessions.open();
  await say(session, 'kept');
  const loseCommits = await place.keep();
  await say(session, 'lost 1');
  await say(session, 'lost 2');
  return { runtime, warnings, session, loseCommits };
};

describe.each(storeKinds)('a store that went back on %s', (kind) => {
  test('[BACK1] is reported in a warning and in the audit log, once per session', async () => {
    const place = await newPlace(kind);
    const { runtime, warnings, session, loseCommits } = await loseTwo(place);
    await loseCommits();
    for (let times = 0; times < 3; times++) expect((await session.transcript()).entries).toHaveLength(1);
    await expect.poll(() => entriesOf(runtime)).toHaveLength(1);
    expect(warnings).toMatchObject([
      { code: 'STORE_WENT_BACK', details: { session: session.id, seen: { seq: 4 }, found: { seq: 2 } } },
    ]);
    expect((await entriesOf(runtime))[0]!.target).toMatch(
      new RegExp(`^${session.id}: event 4 \\([0-9a-f]{12}\\) is gone, ends with event 2 `),
    );
    await say(session, 'on');
    expect(await session.verify()).toMatchObject({ ok: true });
    expect(warnings).toHaveLength(1);
  });

  test('[BACK1] is reported too if other events have taken the numbers of the lost ones', async () => {
    const place = await newPlace(kind);
    const { runtime, warnings, session, loseCommits } = await loseTwo(place);
    await loseCommits();
    const theirs = await (await open(place)).runtime.sessions.get(session.id);
    for (const text of ['a', 'b', 'c']) await say(theirs, text);
    await say(session, 'on');
    await expect.poll(() => entriesOf(runtime)).toHaveLength(1);
    expect(warnings).toMatchObject([{ code: 'STORE_WENT_BACK', details: { seen: { seq: 4 }, found: { seq: 6 } } }]);
  });

  test('[BACK1] concurrent reads and writes of two runtimes are not taken for a loss', async () => {
    const place = await newPlace(kind);
    const [mine, theirs] = [await open(place), await open(place)];
    const session = await mine.runtime.sessions.open();
    const other = await theirs.runtime.sessions.get(session.id);
    const work = Array.from({ length: 20 }, (_, i) => [
      say(session, `${i}`),
      other.state(),
      say(other, `${i}`),
      session.state(),
    ]);
    await Promise.all(work.flat());
    expect([...mine.warnings, ...theirs.warnings]).toEqual([]);
    expect(await entriesOf(mine.runtime)).toEqual([]);
  });

  test('[BACK2] a follower goes back to the last event that is left, and yields those that replace the lost ones', async () => {
    const place = await newPlace(kind);
    const { runtime, session, loseCommits } = await loseTwo(place);
    const events = session.events({ follow: true });
    onTestFinished(async () => void (await events.return()));
    const next = async (count: number) => {
      const read = [];
      for (let i = 0; i < count; i++) read.push((await events.next()).value!);
      return read;
    };
    expect((await next(4)).map(({ seq }) => seq)).toEqual([1, 2, 3, 4]);
    const following = next(3);
    await loseCommits();
    const theirs = await (await open(place)).runtime.sessions.get(session.id);
    for (const text of ['a', 'b', 'c']) await say(theirs, text);
    const replaced = await following;
    expect(replaced.map(({ seq }) => seq)).toEqual([3, 4, 5]);
    expect(textsOf(replaced)).toEqual(['a', 'b', 'c'].map((text) => expect.stringContaining(`"${text}"`)));
    await expect.poll(() => entriesOf(runtime)).toHaveLength(1);
  });

  test('[BACK3] `changes` reports a session whose head went back, and the events that replace the lost ones', async () => {
    const place = await newPlace(kind);
    const { runtime, session, loseCommits } = await loseTwo(place);
    const changes = runtime.changes();
    onTestFinished(async () => void (await changes.return()));
    const heads = async (until: number) => {
      for await (const change of { [Symbol.asyncIterator]: () => ({ next: () => changes.next() }) }) {
        if (change.session === session.id && change.head === until) return change.head;
      }
      return undefined;
    };
    const seen = heads(5);
    await say(session, 'lost 3');
    expect(await seen).toBe(5);
    const lower = heads(3);
    await loseCommits();
    const theirs = await (await open(place)).runtime.sessions.get(session.id);
    await say(theirs, 'a');
    expect(await lower).toBe(3);
    const further = heads(5);
    for (const text of ['b', 'c']) await say(theirs, text);
    expect(await further).toBe(5);
  });
});
