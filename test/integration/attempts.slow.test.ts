import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRuntime, type Point, type Runtime, type Session } from '../../src/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { ask, undecidedAgent } from '../support/runs/undecided-agent.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('attempts on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  const agent = undecidedAgent();
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({
      store: place.address,
      agents: [agent],
      snapshots: { everyEvents: 9, everyBytes: 1e9 },
    });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  const retry = async (session: Session, turn: number, again = true) => {
    const { run, ...retried } = await session.retry({ turn, again });
    expect((await run!.result()).status).toBe('succeeded');
    return retried;
  };
  const wayAt = async (session: Session, at?: Point): Promise<string> =>
    (await session.state({ at })).decisions.way!.what;
  const wordsAt = async (session: Session, at?: Point): Promise<readonly string[]> =>
    (await session.transcript({ at })).entries.flatMap(({ message: { role, content } }) =>
      role === 'tool' ? [] : content.flatMap((part) => (part.type === 'text' ? [part.text] : [])),
    );

  /** A session whose second turn was tried three times. Returns the side of each attempt. */
  const tried = async (input = 'which way?') => {
    const session = await runtime.sessions.open({ agent });
    await ask(session, 'hello');
    await ask(session, input);
    const ways = [await wayAt(session)];
    const places = [];
    for (const turn of [2, 3]) {
      places.push((await retry(session, turn)).attempts);
      ways.push(await wayAt(session));
    }
    expect(new Set(ways).size).toBe(3);
    return { session, ways, places };
  };

  test('[PLACE1, PLACE3] every read takes an attempt, also one that a retry left behind', async () => {
    const { session, ways } = await tried();
    for (const [index, way] of ways.entries()) {
      const at = { turn: 2, attempt: index + 1 };
      expect(await wayAt(session, at)).toBe(way);
      expect((await session.state({ at, path: '/decisions/way/what' })) as string).toBe(way);
      expect((await wordsAt(session, at)).slice(-2)).toEqual(['which way?', `Go ${way}.`]);
      expect(await wordsAt(session, at)).toHaveLength(4);
      expect(JSON.stringify((await session.context({ at })).messages.at(-1))).toContain(`Go ${way}.`);
      expect(Buffer.from(await session.files.read('way.txt', { at })).toString()).toBe(`${way}\n`);
      expect((await session.files.list({ at })).map(({ path }) => path)).toEqual(['way.txt']);
      const [version, first] = await session.files.history('way.txt', { at });
      expect([version!.turn, first!.turn]).toEqual([index + 2, 1]);
      const events = await Array.fromAsync(session.events({ at }));
      expect(events.at(-1)).toMatchObject({ turn: index + 2 });
      expect((await session.diff({ turn: 1 }, at)).to.seq).toBe(events.at(-1)!.seq);
    }
    expect(await session.files.changes({ turn: 2, attempt: 1 }, { turn: 2, attempt: 2 })).toMatchObject([
      { path: 'way.txt', change: 'modified' },
    ]);
    const restored = await session.files.restore({ turn: 2, attempt: 1 });
    expect(restored.changes).toMatchObject([{ path: 'way.txt', change: 'modified' }]);
    expect(Buffer.from(await session.files.read('way.txt')).toString()).toBe(`${ways[0]}\n`);
  });

  test('[PLACE2] an attempt on the live lineage ends where its turn ends', async () => {
    const { session } = await tried();
    await session.commit((draft) => Object.assign(draft.facts, { late: true }));
    expect((await session.state({ at: { turn: 2, attempt: 3 } })).facts).toEqual({ late: true });
    expect((await session.diff({ turn: 4 }, { turn: 2, attempt: 3 })).patch).toEqual([]);
    await ask(session, 'and now?');
    expect((await session.state({ at: { turn: 2, attempt: 3 } })).facts).toEqual({ late: true });
    expect(await wordsAt(session, { turn: 2, attempt: 3 })).toHaveLength(4);
  });

  test('[PLACE2] an attempt that was left behind ends where it ended when it was last live', async () => {
    const session = await runtime.sessions.open();
    const say = (text: string) =>
      session.append([
        { role: 'user', content: text },
        { role: 'assistant', content: text },
      ]);
    const note = (name: string) => session.commit((draft) => Object.assign(draft.facts, { [name]: true }));
    const factsAt = async (at: Point) => Object.keys((await session.state({ at })).facts);
    await say('one');
    await say('two');
    await note('first');
    await say('three');
    await session.rewind({ to: { turn: 2 } });
    await note('after three');
    await session.retry({ turn: 2 });
    await note('second');
    expect(await factsAt({ turn: 2, attempt: 1 })).toEqual(['first', 'after three']);
    expect(await factsAt({ turn: 3, attempt: 1 })).toEqual(['first']);
    await session.rewind({ to: { turn: 2, attempt: 1 } });
    await note('back');
    expect(await factsAt({ turn: 2 })).toEqual(['first', 'after three', 'back']);
    expect(await factsAt({ turn: 2, attempt: 1 })).toEqual(['first', 'after three', 'back']);
    expect(await factsAt({ turn: 2, attempt: 2 })).toEqual(['second']);
    await session.rewind({ to: { turn: 1 } });
    expect(await factsAt({ turn: 2, attempt: 1 })).toEqual(['first', 'after three', 'back']);
    expect(await failureOf(() => session.state({ at: { turn: 2 } }))).toMatchObject({
      code: 'POINT_NOT_FOUND',
      message: expect.stringContaining('turn:2#1'),
    });
  });

  test('[PLACE3] an attempt that does not exist is POINT_NOT_FOUND, and a wrong one INVALID_INPUT', async () => {
    const { session } = await tried();
    for (const at of [
      { turn: 2, attempt: 4 },
      { turn: 9, attempt: 1 },
      { turn: 1, attempt: 2 },
    ]) {
      for (const read of [session.state, session.transcript, session.context, session.fork] as const) {
        expect(await failureOf(() => (read as (options: unknown) => Promise<unknown>)({ at }))).toMatchObject({
          code: 'POINT_NOT_FOUND',
          message: expect.stringMatching(/attempts so far: \d/),
        });
      }
    }
    for (const at of [{ turn: 0, attempt: 1 }, { turn: 2, attempt: 0 }, { seq: 1, attempt: 1 }, { attempt: 1 }]) {
      expect(await failureOf(() => session.state({ at: at as never }))).toMatchObject({ code: 'INVALID_INPUT' });
    }
  });

  test('[PLACE4, HAP2] a fork from an attempt that was left behind goes on there, and knows what happened beside it', async () => {
    const { session, ways } = await tried('pay and choose');
    const at = { turn: 2, attempt: 1 };
    const fork = await session.fork({ at });
    expect(await wayAt(fork)).toBe(ways[0]);
    expect(Buffer.from(await fork.files.read('way.txt')).toString()).toBe(`${ways[0]}\n`);
    expect((await fork.happened()).calls.map(({ tool, session: by }) => [tool, by])).toEqual([
      ['pay', session.id],
      ['pay', session.id],
    ]);
    expect(await session.happened({ after: at })).toMatchObject({ calls: [{ tool: 'pay' }] });
    expect((await fork.attempts()).attempts).toEqual([]);
    await ask(fork, 'go on');
    expect(await wordsAt(fork)).toHaveLength(6);
    expect((await session.diff(at, { session: fork.id, turn: 2, attempt: 1 })).patch).toEqual([]);
  });

  test('[PLACE4] a rewind to an attempt makes it live again', async () => {
    const { session, ways } = await tried('pay and choose');
    await session.rewind({ to: { turn: 2, attempt: 2 } });
    expect(await wayAt(session)).toBe(ways[1]);
    expect(await wordsAt(session)).toEqual(await wordsAt(session, { turn: 2, attempt: 2 }));
    expect((await session.attempts()).attempts.map(({ isLive }) => isLive)).toEqual([false, true, false]);
    expect((await session.happened()).calls).toHaveLength(2);
    const { attempts } = await retry(session, 3);
    expect(attempts).toEqual({ previous: { turn: 2, attempt: 2 }, next: { turn: 2, attempt: 4 } });
  });

  test('[PLACE5, PLACE7] attempts are listed with their places in pages, and a retry names both', async () => {
    const { session, places } = await tried();
    expect(places).toEqual([
      { previous: { turn: 2, attempt: 1 }, next: { turn: 2, attempt: 2 } },
      { previous: { turn: 2, attempt: 2 }, next: { turn: 2, attempt: 3 } },
    ]);
    await ask(session, 'and then?');
    await retry(session, 5);
    const all = [
      { turn: 5, attempt: 1, asTurn: 5, isLive: false },
      { turn: 5, attempt: 2, asTurn: 6, isLive: true },
      { turn: 2, attempt: 1, asTurn: 2, isLive: false },
      { turn: 2, attempt: 2, asTurn: 3, isLive: false },
      { turn: 2, attempt: 3, asTurn: 4, isLive: true },
    ];
    expect(await session.attempts()).toEqual({ attempts: all });
    expect(await session.attempts({ turn: 2 })).toEqual({ attempts: all.slice(2) });
    expect(await session.attempts({ turn: 4 })).toEqual({ attempts: [] });
    const found = [];
    for (let cursor: string | undefined; ; ) {
      const page = await session.attempts({ limit: 2, cursor });
      found.push(...page.attempts);
      cursor = page.cursor;
      if (!cursor) break;
    }
    expect(found).toEqual(all);
    expect(await failureOf(() => session.attempts({ cursor: '2' }))).toMatchObject({ code: 'INVALID_INPUT' });
    const fork = await session.fork();
    expect((await fork.attempts()).attempts).toEqual(all);
    expect(await wayAt(fork, { turn: 2, attempt: 1 })).toBe(await wayAt(session, { turn: 2, attempt: 1 }));
  });

  test('[PLACE6] an attempt of another session is a place, which a caller who does not see it cannot name', async () => {
    const owner = runtime.as({ workspace: 'local', member: 'ann' });
    const theirs = await owner.sessions.open({ agent, visibility: 'private' });
    await ask(theirs, 'which way?');
    const { run } = await theirs.retry({ turn: 1 });
    await run!.result();
    const ours = await owner.sessions.open();
    const [one, two] = [1, 2].map((attempt) => ({ session: theirs.id, turn: 1, attempt }));
    const own = await theirs.diff({ turn: 1, attempt: 1 }, { turn: 1, attempt: 2 });
    expect(await ours.diff(one!, two!)).toEqual(own);
    expect(own.decisions).toHaveLength(1);
    const viewer = runtime.as({ workspace: 'local', member: 'vic', role: 'viewer' });
    const shared = await viewer.sessions.get((await owner.sessions.open()).id);
    expect(await failureOf(() => shared.diff(one!, two!))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });
});
