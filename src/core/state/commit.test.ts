import type { StandardSchemaV1 } from '@standard-schema/spec';
import { describe, expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import type { PerdureError } from '../../schema/error.ts';
import type { OwnState } from '../../schema/state.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { Session } from '../runtime/session.ts';
import { type Agent, defineAgent } from '../session/agent.ts';
import { encodeEvent } from '../session/events/event-codec.ts';
import type { CommitOptions } from './commit.ts';

const anything: StandardSchemaV1<OwnState> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as OwnState }) },
};
const agent = defineAgent({ name: 'coder', version: 1, state: anything });

const begin = async (agents: readonly Agent[] = [agent]) => {
  const database = newMemoryDatabase();
  const store = openMemoryStore(database);
  const runtime = await openRuntime({ store, agents, worker: false });
  const session = await runtime.sessions.open({ agent: agents[0] });
  const cold = async (): Promise<Session> =>
    (await openRuntime({ store: openMemoryStore(database), agents, worker: false })).sessions.get(session.id);
  return { session, cold, store, runtime };
};

const failure = async (work: () => unknown): Promise<PerdureError> => {
  try {
    await work();
  } catch (error) {
    return error as PerdureError;
  }
  throw new Error('it did not fail');
};
const problemOf = async (work: () => unknown) => {
  const { code, details } = await failure(work);
  return { code, path: (details.problems as { path: string }[])?.[0]?.path };
};

describe('objects that a caller holds', () => {
  const mutations: Record<string, (session: Session) => Promise<void>> = {
    'the committed object': async (session) => {
      const held: Record<string, unknown> = { a: 1 };
      await session.commit((draft) => Object.assign(draft.facts, { x: held }));
      held.b = 7;
    },
    'the committed object, during the decision': async (session) => {
      const held: Record<string, unknown> = { a: 1 };
      const committing = session.commit([{ op: 'add', path: '/facts/x', value: held as never }]);
      held.b = 7;
      await committing;
    },
    'the value of a patch': async (session) => {
      const held: Record<string, unknown> = { a: 1 };
      await session.commit([{ op: 'add', path: '/facts/x', value: held as never }]);
      held.b = 7;
    },
    'the returned state': async (session) => {
      await session.commit((draft) => Object.assign(draft.facts, { x: { a: 1 } }));
      const state = (await session.state()) as { facts: Record<string, object> };
      expect(() => Object.assign(state.facts.x!, { b: 7 })).toThrow(TypeError);
      expect(() => Object.assign(state.facts, { y: 7 })).toThrow(TypeError);
    },
    'the delta and the inverse of a record': async (session) => {
      const first = await session.commit((draft) => Object.assign(draft.facts, { x: { a: 0 } }));
      const second = await session.commit([{ op: 'replace', path: '/facts/x', value: { a: 1 } }]);
      for (const { delta, inverse } of [first!, second!]) {
        for (const operation of [...delta, ...inverse]) {
          if ('value' in operation && typeof operation.value === 'object') {
            expect(() => Object.assign(operation.value as object, { b: 7 })).toThrow(TypeError);
          }
        }
        (delta as unknown[]).length = 0;
      }
    },
  };

  test.each(Object.keys(mutations))('[STATE6] changing %s does not change the state', async (what) => {
    const { session, cold } = await begin();
    await mutations[what]!(session);
    expect((await session.state()).facts).toEqual({ x: { a: 1 } });
    await session.commit((draft) => Object.assign(draft.facts.x as object, { b: 8 }));
    expect((await session.state()).facts).toEqual({ x: { a: 1, b: 8 } });
    expect((await (await cold()).state()).facts).toEqual({ x: { a: 1, b: 8 } });
  });

  test("[STATE6] callers cannot change the empty state, a snapshot's state, an agent's initial state or metadata", async () => {
    const initial = { list: [1] };
    const metadata = { of: { a: 1 } };
    const strict = defineAgent({ name: 'coder', version: 1, state: anything, initial });
    const { runtime } = await begin([strict]);
    initial.list.push(2);
    expect(Object.isFrozen((await (await runtime.sessions.open()).state()).facts)).toBe(true);
    const session = await runtime.sessions.open({ agent: strict, metadata });
    metadata.of.a = 2;
    expect((await session.state()).own).toEqual({ list: [1] });
    expect((await (await session.fork()).summary()).metadata).toEqual({ of: { a: 1 } });
  });
});

describe('a commit', () => {
  test('[STATE8] treats undefined as absent: no change, or a removal', async () => {
    const { session, cold } = await begin();
    expect(await session.commit((draft) => Object.assign(draft.own, { x: undefined }))).toBeUndefined();
    await session.commit((draft) => Object.assign(draft.own, { x: 1 }));
    const removed = await session.commit((draft) => Object.assign(draft.own, { x: undefined }));
    expect(removed!.delta).toEqual([{ op: 'remove', path: '/own/x' }]);
    expect((await (await cold()).state()).own).toEqual({});
  });

  test('[STATE1] rejects a value that is not JSON, or an invalid key, with its path in the state', async () => {
    const { session } = await begin();
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const own = (value: unknown) => () => session.commit((draft) => Object.assign(draft.own, { x: value }));
    const key = (name: string) => () => session.commit((draft) => Object.assign(draft.facts, { [name]: 1 }));
    const whole = (value: unknown) => () => session.commit([{ op: 'replace', path: '', value: value as never }]);
    const part = (value: unknown) => () => session.commit((draft) => Object.assign(draft, { own: value }));
    const refused: [work: () => unknown, path: string | RegExp][] = [
      [own(new Date(0)), '/own/x'],
      [own(Number.NaN), '/own/x'],
      [own({ a: undefined }), '/own/x/a'],
      [own([undefined]), '/own/x/0'],
      [own(circular), /^\/own\/x\/self/],
      [key('k'.repeat(2001)), /^\/facts\/k/],
      [key('k\u0000'), '/facts/k\u0000'],
      [() => session.commit([{ op: 'add', path: '/facts/__proto__', value: 1 }]), '/facts/__proto__'],
      [() => session.commit((draft) => Object.assign(draft, { facts: new Map() })), '/facts'],
      [whole(null), ''],
      [whole([]), ''],
      [part([]), '/own'],
      [part(undefined), '/own'],
      [() => session.commit([{ op: 'add', path: '/pins/nope', value: true }]), '/pins/nope'],
    ];
    for (const [work, path] of refused) {
      expect(await problemOf(work)).toEqual({
        code: 'STATE_INVALID',
        path: typeof path === 'string' ? path : expect.stringMatching(path),
      });
    }
  });

  test("[PROV1] a model's commit without sources is unverified, and one with sources has at most their provenance", async () => {
    const { session } = await begin();
    const note = async (options: CommitOptions) => {
      const commit = await session.commit((draft) => Object.assign(draft.scratch, { at: Math.random() }), options);
      return [commit!.actor, commit!.provenance];
    };
    expect(await note({ by: 'model' })).toEqual(['agent:coder', 'unverified']);
    expect(await note({ by: 'model', derivedFrom: [], provenance: 'verified' })).toEqual(['agent:coder', 'unverified']);
    const doubtful = (await session.commits()).commits[0]!.seq;
    const [said] = await session.append({ role: 'user', content: 'it is 8080' });
    expect(await note({ by: 'model', derivedFrom: [said!.seq, doubtful] })).toEqual(['agent:coder', 'unverified']);
    expect(await note({ by: 'model', derivedFrom: [] })).toEqual(['agent:coder', 'human']);
    expect(await note({ derivedFrom: [doubtful] })).toEqual(['member:local', 'unverified']);
    expect(await note({ provenance: 'verified' })).toEqual(['member:local', 'verified']);
    const sure = (await session.commits()).commits[0]!.seq;
    expect(await note({ derivedFrom: [sure] })).toEqual(['member:local', 'human']);
    expect(await note({ derivedFrom: [doubtful], provenance: 'verified' })).toEqual(['member:local', 'verified']);
  });

  test('[PROV4] a commit used as a source has the lowest provenance of its entries', async () => {
    const { session } = await begin();
    const add = (facts: object, options: CommitOptions = {}) =>
      session.commit((draft) => Object.assign(draft.facts, facts), options);
    await add({ ports: [1] }, { provenance: 'unverified' });
    const mixed = await add({ host: 'here', ports: [1, 2] });
    expect(mixed).toMatchObject({ provenance: 'human', entryProvenance: { '/facts/ports': 'unverified' } });
    const [said] = await session.append({ role: 'user', content: 'it is 8080' });
    expect(await add({ a: 1 }, { derivedFrom: [said!.seq] })).toMatchObject({ provenance: 'human' });
    expect(await add({ b: 1 }, { derivedFrom: [said!.seq, mixed!.seq] })).toMatchObject({ provenance: 'unverified' });
  });

  test("[PROV1, REW1] after a rewind a model's provenance is limited by the inputs of the turn at that point", async () => {
    const { session, cold } = await begin();
    const concludeIn = async (handle: Session) => {
      const commit = await handle.commit((draft) => Object.assign(draft.scratch, { at: Math.random() }), {
        by: 'model',
      });
      return commit!.provenance;
    };
    const [asked] = await session.append({ role: 'user', content: 'it is 8080' });
    await (await session.track({ fetch: async () => 'from the web' })).fetch();
    const { seq: fetched } = await session.summary();
    await session.rewind({ to: { seq: asked!.seq } });
    expect(await concludeIn(session)).toBe('human');
    await session.rewind({ to: { seq: fetched } });
    expect(await concludeIn(session)).toBe('unverified');
    await session.append({ role: 'user', content: 'next' });
    expect(await concludeIn(session)).toBe('human');
    await session.rewind({ to: { seq: asked!.seq } });
    expect(await concludeIn(await cold())).toBe('human');
  });

  test('[STATE4] an asynchronous change is rejected, and its later outcome is ignored', async () => {
    const { session } = await begin();
    const waits = async () => {
      throw new Error('too late');
    };
    expect(await failure(() => session.commit(waits))).toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('[STATE1] a pinned fact can be removed only together with its pin', async () => {
    const { session } = await begin();
    const fact = await session.commit((draft) => Object.assign(draft.facts, { n: 42 }));
    await session.pin('n');
    const pinned = { code: 'STATE_INVALID', path: '/pins/n' };
    expect(await problemOf(() => session.revert(fact!.seq))).toMatchObject({ code: 'REVERT_CONFLICT' });
    expect(await problemOf(() => session.commit([{ op: 'remove', path: '/facts/n' }]))).toEqual(pinned);
    await session.commit((draft) => {
      delete draft.facts.n;
      delete draft.pins.n;
    });
    expect(await session.state()).toMatchObject({ facts: {}, pins: {} });
  });

  test('[STATE7] the error names a commit in the log that does not apply, and a rewind to before it repairs the session', async () => {
    const { session, cold, store } = await begin();
    await session.append([
      { role: 'user', content: 'one' },
      { role: 'assistant', content: 'two' },
    ]);
    const good = await session.commit((draft) => Object.assign(draft.facts, { good: true }));
    const payload = { delta: [{ op: 'remove', path: '/own/x' }], inverse: [], provenance: 'human' } as const;
    const { head } = (await store.append({
      workspace: 'local' as never,
      session: session.id,
      writer: { kind: 'outside' },
      at: Date.now(),
      events: [
        encodeEvent({
          type: 'state.committed',
          payload: { ...payload, delta: [...payload.delta], inverse: [] },
          actor: 'member:local' as never,
          turn: 1,
        }),
      ],
    })) as { head: { seq: number } };
    const bad = await cold();
    const damaged = { code: 'EVENT_DAMAGED', details: { seq: head.seq } };
    const tries = [
      () => bad.state(),
      () => bad.append({ role: 'user', content: 'x' }),
      () => bad.commit((draft) => Object.assign(draft.facts, { a: 1 })),
    ];
    for (const work of tries) expect(await failure(work)).toMatchObject(damaged);
    expect(await (await bad.fork()).summary()).toMatchObject({ forkedAt: good!.seq, lost: { from: head.seq } });
    expect(await bad.verify()).toMatchObject({ ok: false, bad: { seq: head.seq } });
    expect((await bad.commits()).commits).toHaveLength(2);
    expect((await bad.transcript({ at: { seq: good!.seq } })).entries).toHaveLength(2);
    const before = { seq: good!.seq };
    expect((await bad.state({ at: before })).facts).toEqual({ good: true });
    expect((await (await bad.fork({ at: before })).state()).facts).toEqual({ good: true });
    await bad.rewind({ to: before });
    await bad.commit((draft) => Object.assign(draft.facts, { more: true }));
    expect((await (await cold()).state()).facts).toEqual({ good: true, more: true });
    expect(await bad.verify()).toMatchObject({ ok: true });
  });
});
