import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRuntime, type Runtime, type Session, type SessionEvent } from '../../src/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const eventsOf = async (session: Session): Promise<SessionEvent[]> => {
  const events: SessionEvent[] = [];
  for await (const event of session.events()) events.push(event);
  return events;
};

const typesOf = async (session: Session) => (await eventsOf(session)).map((event) => event.type);

describe.each(storeKinds)('tracked tools on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  const warnings: unknown[] = [];
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address, onWarning: (problem) => warnings.push(problem) });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });
  const begin = async () => {
    const session = await runtime.sessions.open();
    await session.append({ role: 'user', content: 'go' });
    return session;
  };

  test('[TRACK1] a call is in the log before its tool runs, and its outcome and changes follow together', async () => {
    const session = await begin();
    let during: string[] = [];
    const tools = await session.track(
      {
        write: async ({ path }: { path: string }) => {
          during = await typesOf(session);
          return { path, bytes: 3 };
        },
      },
      {
        write: {
          files: ({ path }) => ({ [path]: 'created' }),
          decisions: () => ({ place: { what: 'in src', why: 'convention' } }),
          summarize: ({ bytes }) => `${bytes} bytes`,
        },
      },
    );
    expect(await tools.write({ path: 'src/a.ts' })).toEqual({ path: 'src/a.ts', bytes: 3 });
    expect(during.at(-1)).toBe('tool.called');
    const [called, completed, committed] = (await eventsOf(session)).slice(-3);
    expect([called, completed, committed].map((event) => event!.type)).toEqual([
      'tool.called',
      'tool.completed',
      'state.committed',
    ]);
    expect(called!.payload).toMatchObject({ tool: 'write', input: { path: 'src/a.ts' } });
    expect(committed!.payload).toMatchObject({ outputSummary: '3 bytes', cause: { tool: 'write' } });
    const state = await session.state();
    expect(state.toolsUsed).toEqual({ write: { calls: 1, ok: 1, failed: 0 } });
    expect(state.filesModified['src/a.ts']).toMatchObject({ change: 'created', tool: 'write' });
    expect(state.decisions.place).toEqual({ what: 'in src', why: 'convention' });
    const [call] = (await session.toolCalls()).calls;
    expect(call).toMatchObject({
      tool: 'write',
      status: 'ok',
      turn: 1,
      inputHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect(call!.durationMs).toBeGreaterThanOrEqual(0);
  });

  test('[TRACK4] failures are typed results, and still thrown to the loop', async () => {
    const session = await begin();
    const tools = await session.track({
      fails: async () => {
        throw new TypeError('no such thing \u0000 \ud800');
      },
      slow: async () => {
        throw new DOMException('too slow', 'TimeoutError');
      },
      stopped: async () => {
        throw new DOMException('stopped', 'AbortError');
      },
    });
    expect((await failureOf(tools.fails())).message).toContain('no such thing');
    await failureOf(tools.slow());
    await failureOf(tools.stopped());
    const calls = (await session.toolCalls()).calls;
    expect(calls.map(({ tool, status }) => [tool, status]).toSorted()).toEqual([
      ['fails', 'threw'],
      ['slow', 'timeout'],
      ['stopped', 'cancelled'],
    ]);
    expect((await session.state()).toolsUsed.fails).toEqual({ calls: 1, ok: 0, failed: 1 });
    expect((await session.toolCalls({ status: ['timeout', 'cancelled'] })).calls).toHaveLength(2);
  });

  test("[TRACK1] a tool's result is journaled as far as possible, and returned to the loop unchanged", async () => {
    const session = await begin();
    const loop: { self?: unknown } = {};
    loop.self = loop;
    const outputs: Record<string, unknown> = {
      nothing: undefined,
      big: 12n,
      bytes: Buffer.from('hi'),
      text: 'a\u0000b',
      loop,
    };
    const tools = await session.track({ give: async ({ what }: { what: string }) => outputs[what] });
    for (const [what, output] of Object.entries(outputs)) expect(await tools.give({ what })).toBe(output);
    expect((await session.toolCalls({ status: 'ok' })).calls.length).toBe(5);
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[TRACK1] an outcome is kept even if its declared change is invalid', async () => {
    const session = await begin();
    const tools = await session.track(
      { plan: async () => 'planned' },
      { plan: { change: (draft) => Object.assign(draft.plan, { a: 'not a step' }) } },
    );
    expect(await tools.plan()).toBe('planned');
    expect(warnings.at(-1)).toMatchObject({ code: 'STATE_INVALID' });
    expect((await session.toolCalls()).calls).toMatchObject([{ tool: 'plan', status: 'ok' }]);
    expect((await session.state()).plan).toEqual({});
  });

  test('[TRACK1] concurrent calls, and other commits between them, all land', async () => {
    const session = await begin();
    const other = await openRuntime({ store: place.address });
    const elsewhere = await other.sessions.get(session.id);
    const tools = await session.track({ add: async ({ n }: { n: number }) => n });
    await Promise.all([
      ...Array.from({ length: 10 }, (_, n) => tools.add({ n })),
      ...Array.from({ length: 10 }, (_, n) =>
        elsewhere.commit((draft) => Object.assign(draft.facts, { [`f${n}`]: n })),
      ),
    ]);
    const state = await session.state();
    expect(state.toolsUsed.add).toEqual({ calls: 10, ok: 10, failed: 0 });
    expect(Object.keys(state.facts)).toHaveLength(10);
    expect((await session.toolCalls({ status: 'running' })).calls).toEqual([]);
    await other.close();
  });

  test('[TRACK2] a tracker whose session another tracker has taken over runs no tool', async () => {
    const session = await begin();
    let runs = 0;
    const count = async () => ++runs;
    const mine = await session.track({ count });
    await mine.count();
    const other = await openRuntime({ store: place.address });
    const theirs = await (await other.sessions.get(session.id)).track({ count });
    await theirs.count();
    expect(await failureOf(mine.count())).toMatchObject({ code: 'FENCED' });
    expect(runs).toBe(2);
    await session.rewind({ to: { turn: 1 } });
    expect(await failureOf(theirs.count())).toMatchObject({ code: 'FENCED' });
    await (await session.track({ count })).count();
    expect(runs).toBe(3);
    await other.close();
  });

  test('[TRACK2] all tools tracked through one session handle share one tracker and are taken over together', async () => {
    const session = await begin();
    const local = await session.track({ local: async () => 'l' }, { local: { effects: 'none' } });
    const server = { callTool: async ({ name }: { name: string }) => name };
    const client = await session.track(server, { remote: { effects: 'none' } });
    await local.local();
    expect(await client.callTool({ name: 'remote' })).toBe('remote');
    expect(await local.local()).toBe('l');
    await session.rewind({ to: { turn: 1 } });
    expect(await failureOf(local.local())).toMatchObject({ code: 'FENCED' });
    expect(await failureOf(client.callTool({ name: 'remote' }))).toMatchObject({ code: 'FENCED' });
    const again = await session.track({ local: async () => 'again' }, { local: { effects: 'none' } });
    expect(await again.local()).toBe('again');
    expect(await failureOf(local.local())).toMatchObject({ code: 'FENCED' });
  });

  test('[TRACK6] calls that a tracker had in flight end as interrupted when another takes over', async () => {
    const session = await begin();
    const started = Promise.withResolvers<void>();
    const result = Promise.withResolvers<string>();
    const hangs = (
      await session.track({
        hang: () => {
          started.resolve();
          return result.promise;
        },
      })
    ).hang();
    await started.promise;
    const other = await runtime.sessions.get(session.id);
    await (await other.track({ work: async () => 1 })).work();
    const statuses = async () => (await session.toolCalls()).calls.map(({ tool, status }) => [tool, status]).toSorted();
    const ended = [
      ['hang', 'interrupted'],
      ['work', 'ok'],
    ];
    expect(await statuses()).toEqual(ended);
    result.resolve('late');
    expect(await hangs).toBe('late');
    expect(await statuses()).toEqual(ended);
    expect(await session.verify()).toMatchObject({ ok: true });
  });

  test('[TRACK6, WR2] closing a session ends calls in flight, of this process or a dead one, as interrupted', async () => {
    const session = await begin();
    const started = Promise.withResolvers<void>();
    const result = Promise.withResolvers<string>();
    const tools = await session.track({
      hang: () => {
        started.resolve();
        return result.promise;
      },
    });
    const hangs = tools.hang();
    await started.promise;
    await (await runtime.sessions.get(session.id)).close({ reason: 'over' });
    const outcomes = async () => (await session.toolCalls()).calls.map(({ tool, status }) => [tool, status]);
    expect(await outcomes()).toEqual([['hang', 'interrupted']]);
    result.resolve('late');
    expect(await hangs).toBe('late');
    expect(await outcomes()).toEqual([['hang', 'interrupted']]);
    expect(await session.verify()).toMatchObject({ ok: true });
    await session.reopen();
    expect(await failureOf(tools.hang())).toMatchObject({ code: 'FENCED' });
  });

  test('[TRACK7] the loop receives the outcome of a tool that has run, even if the session was rewound during the call', async () => {
    const session = await begin();
    const rewind = () => session.rewind({ to: { turn: 1 } });
    const own = new Error('of the tool');
    const { fails } = await session.track({
      fails: async () => {
        await rewind();
        throw own;
      },
    });
    expect(await failureOf(fails())).toBe(own);
    expect(warnings.at(-1)).toMatchObject({ code: 'FENCED' });
    const { gives } = await session.track({
      gives: async () => {
        await rewind();
        return 'result';
      },
    });
    expect(await gives()).toBe('result');
    await (await session.track({ next: async () => 1 })).next();
    expect((await session.toolCalls({ includeRewound: true, status: 'running' })).calls).toEqual([]);
  });

  test('[TRACK2] a paused session runs no tool, and an outcome that arrives after the pause is kept', async () => {
    const session = await begin();
    const tools = await session.track({
      pauses: async () => session.pause(),
      idle: async () => 'never',
    });
    await tools.pauses();
    expect((await session.summary()).status).toBe('paused');
    expect((await session.toolCalls({ status: 'ok' })).calls).toHaveLength(1);
    expect(await failureOf(tools.idle())).toMatchObject({ code: 'ILLEGAL_TRANSITION' });
    expect((await session.toolCalls()).calls).toHaveLength(1);
  });
});
