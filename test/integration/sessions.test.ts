import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type commands, lifecycle } from '../../src/core/session/lifecycle.ts';
import { defineAgent, openRuntime, type Runtime, type Session, type SessionEvent } from '../../src/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const user = (content: string) => ({ role: 'user', content }) as const;
const answer = (content: string) => ({ role: 'assistant', content }) as const;
const call = (callId: string) =>
  ({ role: 'assistant', content: [{ type: 'tool-call', callId, tool: 'read', input: { path: 'a.txt' } }] }) as const;
const result = (callId: string) =>
  ({ role: 'tool', content: [{ type: 'tool-result', callId, tool: 'read', outcome: 'ok', output: 'hello' }] }) as const;

const texts = async (session: Session, options?: Parameters<Session['transcript']>[0]) =>
  (await session.transcript(options)).entries.flatMap(({ message }) =>
    message.content.map((part) => ('text' in part ? part.text : `${part.type}`)),
  );

const all = async (session: Session, after = 0): Promise<SessionEvent[]> => {
  const events: SessionEvent[] = [];
  for await (const event of session.events({ after })) events.push(event);
  return events;
};

describe.each(storeKinds)('sessions on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  let opened: Runtime[] = [];
  const reopen = async () => {
    const next = await openRuntime({ store: place.address, snapshots: { everyEvents: 5, everyBytes: 1e6 } });
    opened.push(next);
    return next;
  };
  const talk = async (turns: number) => {
    const session = await runtime.sessions.open({ title: 'talk' });
    for (let turn = 1; turn <= turns; turn++) await session.append([user(`ask ${turn}`), answer(`reply ${turn}`)]);
    return session;
  };

  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await reopen();
  });
  afterEach(async () => {
    await Promise.all(opened.filter((each) => each !== runtime).map((each) => each.close()));
    opened = [runtime];
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  test('[CTX1] a transcript reads the same after a restart, as a whole and at a point', async () => {
    const session = await talk(3);
    const again = await (await reopen()).sessions.get(session.id);
    expect(await texts(again)).toEqual(['ask 1', 'reply 1', 'ask 2', 'reply 2', 'ask 3', 'reply 3']);
    expect(await texts(again, { at: { turn: 2 } })).toEqual(['ask 1', 'reply 1', 'ask 2', 'reply 2']);
    expect(await texts(again, { at: { seq: 4 } })).toEqual(['ask 1', 'reply 1', 'ask 2']);
    expect(await texts(again, { at: { turn: 0 } })).toEqual([]);
    expect(await texts(again, { lastTurns: 1 })).toEqual(['ask 3', 'reply 3']);
  });

  test('[FORK1, FORK2] a fork continues from its point, and neither session sees later events of the other', async () => {
    const session = await talk(3);
    const fork = await session.fork({ at: { turn: 2 }, title: 'another way' });
    await fork.append([user('else'), answer('where')]);
    await session.append([user('ask 4'), answer('reply 4')]);
    expect(await texts(fork)).toEqual(['ask 1', 'reply 1', 'ask 2', 'reply 2', 'else', 'where']);
    expect((await texts(session)).at(-1)).toBe('reply 4');
    expect(await fork.summary()).toMatchObject({
      title: 'another way',
      parent: session.id,
      status: 'active',
      messages: 6,
    });
    const cold = await (await reopen()).sessions.get(fork.id);
    expect(await texts(cold)).toEqual(await texts(fork));
    expect(await cold.verify()).toMatchObject({ ok: true, events: 8 });
  });

  test('[FORK1] a fork at an inherited event has the session that wrote the event as its parent', async () => {
    const session = await talk(3);
    const fork = await session.fork({ at: { turn: 2 } });
    const second = await fork.fork({ at: { turn: 1 } });
    expect((await second.summary()).parent).toBe(session.id);
    expect(await texts(second)).toEqual(['ask 1', 'reply 1']);
    const tree = await second.tree();
    expect(tree.summary.id).toBe(session.id);
    expect(tree.forks.map(({ summary }) => summary.id)).toEqual([fork.id, second.id]);
  });

  test('[FORK1, FOLD1] a hundred forks of forks read as one session', async () => {
    let session = await runtime.sessions.open();
    const expected: string[] = [];
    for (let depth = 1; depth <= 100; depth++) {
      await session.append([user(`ask ${depth}`), answer(`reply ${depth}`)]);
      expected.push(`ask ${depth}`, `reply ${depth}`);
      session = await session.fork();
    }
    const cold = await (await reopen()).sessions.get(session.id);
    expect(await texts(cold)).toEqual(expected);
    expect(await cold.verify()).toMatchObject({ ok: true, events: 301 });
    expect(await texts(cold, { at: { turn: 50 } })).toEqual(expected.slice(0, 100));
    let node = await cold.tree();
    let depth = 0;
    for (; node.forks[0]; depth++) node = node.forks[0];
    expect(depth).toBe(100);
  });

  test('[FORK3] a fork in the middle of a turn starts paused, with its open call settled', async () => {
    const session = await runtime.sessions.open();
    await session.append([user('read it'), call('c1')]);
    const fork = await session.fork();
    expect((await fork.summary()).status).toBe('paused');
    const settled = (await fork.transcript()).entries.at(-1)!.message;
    expect(settled).toMatchObject({ role: 'tool', content: [{ callId: 'c1', outcome: 'interrupted' }] });
    await fork.resume();
    await fork.append(answer('I was interrupted'));
    await session.append([result('c1'), answer('hello it says')]);
    expect(await texts(session)).toEqual(['read it', 'tool-call', 'tool-result', 'hello it says']);
  });

  test('[FORK4, REW1] events that a rewind left behind can still be read, forked and rewound to', async () => {
    const session = await talk(4);
    const before = await all(session);
    await session.rewind({ to: { turn: 2 }, reason: 'wrong way' });
    expect(await texts(session)).toEqual(['ask 1', 'reply 1', 'ask 2', 'reply 2']);
    expect((await all(session)).slice(0, before.length)).toEqual(before);
    const rescued = await session.fork({ at: { seq: before.length } });
    expect((await texts(rescued)).at(-1)).toBe('reply 4');
    await session.append([user('new'), answer('course')]);
    await session.rewind({ to: { seq: before.length } });
    expect((await texts(session)).at(-1)).toBe('reply 4');
    const cold = await (await reopen()).sessions.get(session.id);
    expect(await texts(cold)).toEqual(await texts(session));
    expect(await cold.summary()).toMatchObject({ messages: 8, lastTurn: 5 });
  });

  test('[LOG6, REW3] turn numbers keep rising after a rewind, and an abandoned turn is not a point', async () => {
    const session = await talk(4);
    await session.rewind({ to: { turn: 2 } });
    const [asked] = await session.append([user('again'), answer('yes')]);
    expect(asked!.turn).toBe(5);
    expect(await texts(session, { at: { turn: 5 } })).toEqual(['ask 1', 'reply 1', 'ask 2', 'reply 2', 'again', 'yes']);
    expect(await texts(session, { at: { turn: 2 } })).toEqual(['ask 1', 'reply 1', 'ask 2', 'reply 2']);
    expect(await failureOf(session.transcript({ at: { turn: 3 } }))).toMatchObject({ code: 'POINT_NOT_FOUND' });
    const fork = await session.fork({ at: { turn: 2 } });
    expect((await fork.append(user('and here')))[0]!.turn).toBe(5);
  });

  test('[REW2] a rewind into a turn settles the calls that were open there', async () => {
    const session = await runtime.sessions.open();
    const made = await session.append([user('read it'), call('c1'), result('c1'), answer('done')]);
    await session.rewind({ to: { seq: made[1]!.seq } });
    const last = (await session.transcript()).entries.at(-1)!;
    expect(last.message).toMatchObject({ role: 'tool', content: [{ callId: 'c1', outcome: 'interrupted' }] });
    expect(last.turn).toBe(1);
    const { messages } = await session.context();
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });

  test('[LIFE1] every lifecycle command in every status follows the table, and forbidden commands change nothing', async () => {
    type Move = Exclude<(typeof commands)[number], 'requestPause'>;
    const moves: Record<Move, (session: Session) => Promise<unknown>> = {
      append: (session) => session.append(user('more')),
      send: (session) => session.send('more'),
      update: (session) => session.update({ title: 'new' }),
      commit: (session) => session.commit((draft) => Object.assign(draft.facts, { port: 8080 })),
      pause: (session) => session.pause({ reason: 'lunch' }),
      resume: (session) => session.resume(),
      close: (session) => session.close(),
      reopen: (session) => session.reopen(),
      archive: (session) => session.archive(),
      unarchive: (session) => session.unarchive(),
      rewind: (session) => session.rewind({ to: { seq: 1 } }),
      fork: (session) => session.fork(),
    };
    const ways: Record<string, Move[]> = {
      open: [],
      active: ['append'],
      paused: ['append', 'pause'],
      closed: ['append', 'close'],
      archived: ['append', 'close', 'archive'],
    };
    for (const [status, way] of Object.entries(ways)) {
      for (const command of Object.keys(moves) as Move[]) {
        const session = await runtime.sessions.open({ agent: defineAgent({ name: 'idle', version: 1 }) });
        for (const step of way) await moves[step](session);
        const before = await session.summary();
        expect(before.status).toBe(status);
        const next = lifecycle[before.status][command];
        if (next) {
          await moves[command](session);
          expect((await session.summary()).status, `${command} of ${status}`).toBe(next);
        } else {
          const error = await failureOf(moves[command](session));
          expect(error).toMatchObject({ code: 'ILLEGAL_TRANSITION', details: { status, command } });
          expect(error.message).toContain('allowed now:');
          expect(await session.summary()).toEqual(before);
        }
      }
    }
  });

  test('[LIFE1, WR4] an append to a session closed elsewhere is rejected and says what is allowed', async () => {
    const session = await talk(1);
    const elsewhere = await (await reopen()).sessions.get(session.id);
    await elsewhere.close();
    expect(await failureOf(session.append(user('late')))).toMatchObject({ code: 'ILLEGAL_TRANSITION' });
    await elsewhere.reopen();
    await session.append(user('in time'));
    expect((await texts(session)).at(-1)).toBe('in time');
  });

  test('[LIFE2] concurrent lifecycle commands of two runtimes are each decided on the current head', async () => {
    const session = await talk(1);
    const elsewhere = await (await reopen()).sessions.get(session.id);
    const titles = Array.from({ length: 12 }, (_, index) => `title ${index}`);
    await Promise.all(titles.map((title, index) => (index % 2 ? session : elsewhere).update({ title })));
    const described = (await all(session)).filter(({ type }) => type === 'session.described');
    expect(described.map(({ payload }) => (payload as { title: string }).title).toSorted()).toEqual(titles.toSorted());
    const outcomes = await Promise.allSettled([session.close(), elsewhere.close()]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  test('[KEY1, KEY2] a repeated append returns the first answer, even after the session was closed', async () => {
    const session = await runtime.sessions.open();
    const first = await session.append([user('read it'), call('c1')], { idempotencyKey: 'k1' });
    const second = await session.append(result('c1'), { idempotencyKey: 'k2' });
    expect(await session.append([user('read it'), call('c1')], { idempotencyKey: 'k1' })).toEqual(first);
    await session.close();
    const cold = await (await reopen()).sessions.get(session.id);
    expect(await cold.append(result('c1'), { idempotencyKey: 'k2' })).toEqual(second);
    expect(await failureOf(cold.append(user('other'), { idempotencyKey: 'k1' }))).toMatchObject({ code: 'KEY_REUSED' });
    expect((await cold.summary()).messages).toBe(3);
  });

  test('[KEY1] the same append sent many times concurrently lands once', async () => {
    const session = await runtime.sessions.open();
    const elsewhere = await (await reopen()).sessions.get(session.id);
    const sent = Array.from({ length: 10 }, (_, index) =>
      (index % 2 ? session : elsewhere).append(user('once'), { idempotencyKey: 'same' }),
    );
    const answers = await Promise.all(sent);
    for (const each of answers) expect(each).toEqual(answers[0]);
    expect(await texts(session)).toEqual(['once']);
  });

  test('[WAKE1, WAKE2, LOG1] followers in both runtimes see every event once and in order', async () => {
    const session = await runtime.sessions.open();
    const elsewhere = await (await reopen()).sessions.get(session.id);
    const total = 60;
    const follow = async (from: Session) => {
      const seen: number[] = [];
      for await (const { seq } of from.events({ follow: true })) {
        seen.push(seq);
        if (seq === total + 1) break;
      }
      return seen;
    };
    const followers = [follow(session), follow(elsewhere)];
    for (let index = 0; index < total; index++) await (index % 3 ? session : elsewhere).append(user(`${index}`));
    const dense = Array.from({ length: total + 1 }, (_, index) => index + 1);
    expect(await Promise.all(followers)).toEqual([dense, dense]);
  });

  test('[ST3] closing the runtime ends its followers, and later calls fail with RUNTIME_CLOSED', async () => {
    const other = await reopen();
    const session = await other.sessions.open();
    const following = (async () => {
      for await (const { type } of session.events({ follow: true })) expect(type).toBe('session.opened');
    })();
    await session.summary();
    await other.close();
    await following;
    expect(await failureOf(session.append(user('late')))).toMatchObject({ code: 'RUNTIME_CLOSED' });
  });

  test('[ST3] a runtime held by `await using` is closed at the end of its block', async () => {
    let left: Session;
    {
      await using other = await reopen();
      left = await other.sessions.open();
    }
    expect(await failureOf(left.summary())).toMatchObject({ code: 'RUNTIME_CLOSED' });
  });

  test('a follower ends when its abort signal fires', async () => {
    const session = await talk(1);
    const stop = new AbortController();
    const seen: string[] = [];
    for await (const { type } of session.events({ follow: true, signal: stop.signal })) {
      seen.push(type);
      if (seen.length === 3) stop.abort();
    }
    expect(seen).toHaveLength(3);
  });

  test('[TEN1] a session is not found from another workspace', async () => {
    const session = await talk(1);
    const { sessions } = runtime.as({ workspace: 'other', member: 'ann' });
    expect(await failureOf(sessions.get(session.id))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    expect((await sessions.list()).sessions).toEqual([]);
    const theirs = await sessions.open({ title: 'theirs' });
    await theirs.append(user('hi'));
    expect((await all(theirs)).map(({ actor }) => actor)).toEqual(['member:ann', 'member:ann']);
    expect(await failureOf(runtime.sessions.get(theirs.id))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('[IN1, IN7, IN2, IN3, IN5, FAULT3] invalid input is rejected with its path, and nothing is written', async () => {
    const session = await talk(1);
    const before = await session.summary();
    const cases: [() => Promise<unknown>, string, RegExp][] = [
      [() => session.append(user('a\u0000b')), 'INVALID_INPUT', /0\.content\.0\.text.*U\+0000/],
      [() => session.append(user('\ud800')), 'INVALID_INPUT', /lone surrogate/],
      [() => session.append([]), 'INVALID_INPUT', /nothing to append/],
      [() => session.append({ role: 'robot', content: 'x' } as never), 'INVALID_INPUT', /role/],
      [
        () => session.append({ role: 'user', content: [{ type: 'text', text: 'x', extra: 1 }] } as never),
        'INVALID_INPUT',
        /extra/,
      ],
      [() => session.append(null as never), 'INVALID_INPUT', /messages/],
      [() => session.append(result('nobody')), 'INVALID_INPUT', /no open call nobody/],
      [
        () => session.append({ role: 'assistant', content: [...call('c').content, ...call('c').content] }),
        'INVALID_INPUT',
        /0\.content\.1\.callId.*twice/,
      ],
      [() => session.append(user('x'), { idempotencyKey: '' }), 'INVALID_INPUT', /idempotencyKey/],
      [() => session.append(user('x'.repeat(17 * 1024 * 1024))), 'PAYLOAD_TOO_LARGE', /over the limit of 16777216/],
      [() => session.update({ metadata: { deep: Number.NaN } }), 'INVALID_INPUT', /metadata\.deep/],
      [() => session.transcript({ at: { seq: 99 } }), 'POINT_NOT_FOUND', /it has 3 events/],
      [() => session.transcript({ at: { turn: 9 } }), 'POINT_NOT_FOUND', /its last turn is 1/],
      [() => session.transcript({ at: { seq: 0 } }), 'INVALID_INPUT', /at\.seq/],
      [() => session.fork({ at: 'here' as never }), 'INVALID_INPUT', /at: expected/],
      [async () => session.events({ after: -1 }).next(), 'INVALID_INPUT', /after/],
      [() => session.rewind({} as never), 'INVALID_INPUT', /to/],
      [() => session.fork({ att: { seq: 1 } } as never), 'INVALID_INPUT', /att/],
      [() => session.pause({ because: 'x' } as never), 'INVALID_INPUT', /because/],
      [() => session.update({ metadata: { large: 'x'.repeat(17_000) } }), 'INVALID_INPUT', /16384/],
      [() => runtime.sessions.import(5 as never), 'INVALID_INPUT', /stream/],
      [() => openRuntime({} as never), 'INVALID_INPUT', /store/],
      [() => openRuntime({ store: 'sqlite::memory:' }), 'INVALID_INPUT', /sqlite:PATH/],
      [() => runtime.sessions.get('ses_nope'), 'INVALID_INPUT', /ses_01/],
      [() => runtime.sessions.get('ses_01jd3v8m9k5x7q2w4e6r8t0y1a'), 'SESSION_NOT_FOUND', /perdure ls/],
      [() => runtime.sessions.list({ limit: 0 }), 'INVALID_INPUT', /limit/],
      [() => runtime.sessions.list({ cursor: 'x' }), 'INVALID_INPUT', /cursor/],
      [() => runtime.sessions.list({ cursor: `1.${session.id}`, by: 'id' }), 'INVALID_INPUT', /cursor/],
      [() => runtime.sessions.list({ cursor: `id.${session.id}` }), 'INVALID_INPUT', /cursor/],
      [async () => runtime.as({ workspace: 'No Way', member: 'x' }), 'INVALID_INPUT', /workspace/],
    ];
    for (const [work, code, message] of cases) {
      const error = await failureOf(work());
      expect({ code: error.code, message: error.message }).toEqual({ code, message: expect.stringMatching(message) });
    }
    expect(await session.summary()).toEqual(before);
  });

  test('a listing returns every session once, newest change first, page by page', async () => {
    const { sessions } = runtime.as({ workspace: `list-${kind}`, member: 'ann' });
    const made: string[] = [];
    for (let index = 0; index < 7; index++) made.push((await sessions.open({ title: `s${index}` })).id);
    await (await sessions.get(made[2]!)).append(user('news'));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await sessions.list({ limit: 3, ...(cursor && { cursor }) });
      seen.push(...page.sessions.map(({ id }) => id));
      cursor = page.cursor;
    } while (cursor);
    expect(seen).toHaveLength(7);
    expect(new Set(seen)).toEqual(new Set(made));
    expect((await sessions.list({ status: 'active' })).sessions.map(({ id }) => id)).toEqual([made[2]]);
  });

  test('[BLOB1] a message of some megabytes is read back whole', async () => {
    const session = await runtime.sessions.open();
    const text = 'perdure '.repeat(400_000);
    await session.append(user(text));
    const cold = await (await reopen()).sessions.get(session.id);
    expect(await texts(cold)).toEqual([text]);
    expect(await cold.verify()).toMatchObject({ ok: true });
  });
});
