import { type } from 'arktype';
import * as v from 'valibot';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { failureOf } from '../support/failure-of.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const user = (content: string) => ({ role: 'user', content }) as const;
const answer = (content: string) => ({ role: 'assistant', content }) as const;

const schemas = {
  zod: z.object({ port: z.number(), tags: z.array(z.string()) }),
  valibot: v.object({ port: v.number(), tags: v.array(v.string()) }),
  arktype: type({ port: 'number', tags: 'string[]' }),
};
const initial = { port: 1, tags: ['a', 'b', 'c'] };
const agents = Object.entries(schemas).map(([name, state]) =>
  defineAgent({ name, version: 1, state: state as never, initial }),
);

describe.each(storeKinds)('state on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  const start = () =>
    openRuntime({ store: place.address, agents, worker: false, snapshots: { everyEvents: 7, everyBytes: 1e9 } });
  beforeAll(async () => {
    place = await newStorePlace(kind);
    runtime = await start();
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });
  const talk = async (session: Session, from: number, to: number) => {
    for (let turn = from; turn <= to; turn++) {
      await session.append([user(`ask ${turn}`), answer(`reply ${turn}`)]);
      await session.commit((draft) => {
        draft.facts[`turn${turn}`] = turn;
      });
    }
  };

  test('[STATE1] an invalid commit fails with its paths and changes nothing', async () => {
    const session = await runtime.sessions.open();
    await session.commit((draft) => {
      draft.plan.a = { step: 'look', status: 'todo', order: 1 };
    });
    const before = await session.summary();
    const invalid: [() => unknown, string][] = [
      [
        () => session.commit((draft) => Object.assign(draft.plan, { b: { step: 'x', status: 'soon', order: 1 } })),
        '/plan/b/status',
      ],
      [() => session.commit((draft) => Object.assign(draft, { invented: {} })), '/invented'],
      [() => session.commit((draft) => Object.assign(draft, { facts: [] })), '/facts'],
      [() => session.commit((draft) => Object.assign(draft.facts, { bad: () => 1 })), '/facts/bad'],
      [() => session.commit((draft) => Object.assign(draft.facts, { bad: 'a\u0000' })), '/facts/bad'],
      [() => session.commit((draft) => Object.assign(draft.own, { x: 1 })), '/own'],
      [() => session.commit([{ op: 'remove', path: '/facts/none' }]), '/facts/none'],
      [() => session.commit([{ op: 'test', path: '/plan/a/status', value: 'done' }]), '/plan/a/status'],
      [() => session.commit([{ op: 'replace', path: '', value: {} }]), '/toolsUsed'],
    ];
    for (const [work, path] of invalid) {
      const error = await failureOf(work);
      expect({ code: error.code, path: (error.details.problems as { path: string }[])[0]?.path }).toEqual({
        code: 'STATE_INVALID',
        path,
      });
    }
    expect(await failureOf(() => session.commit([{ op: 'jump', path: '/facts' }] as never))).toMatchObject({
      code: 'INVALID_INPUT',
    });
    expect(await failureOf(() => session.commit({} as never))).toMatchObject({ code: 'INVALID_INPUT' });
    expect(await session.summary()).toEqual(before);
  });

  test('[STATE2, STATE8] a draft and a patch store the same minimal delta, and nothing when nothing changes', async () => {
    const session = await runtime.sessions.open();
    const first = await session.commit((draft) => {
      draft.facts['a/b~c'] = { deep: [1, 2, 3] };
      draft.facts.port = 8080;
    });
    expect(first!.delta.toSorted((a, b) => (a.path < b.path ? -1 : 1))).toEqual([
      { op: 'add', path: '/facts/a~1b~0c', value: { deep: [1, 2, 3] } },
      { op: 'add', path: '/facts/port', value: 8080 },
    ]);
    const second = await session.commit([{ op: 'add', path: '/facts/a~1b~0c/deep/0', value: 0 }]);
    expect(second!.delta).toEqual([
      { op: 'test', path: '/facts/a~1b~0c/deep', value: [1, 2, 3] },
      { op: 'add', path: '/facts/a~1b~0c/deep/0', value: 0 },
    ]);
    expect(second!.inverse.at(-1)).toEqual({ op: 'remove', path: '/facts/a~1b~0c/deep/0' });
    const { seq } = await session.summary();
    expect(await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }))).toBeUndefined();
    expect(await session.commit([{ op: 'replace', path: '/facts/port', value: 8080 }])).toBeUndefined();
    expect((await session.summary()).seq).toBe(seq);
    const replaced = await session.commit((draft) => {
      draft.facts = { port: 9090 };
    });
    expect(replaced!.entries.toSorted()).toEqual(['/facts/a~1b~0c', '/facts/port']);
  });

  test('[STATE3] the state at every point is what was committed up to there, also after a rewind, in a fork and without caches', async () => {
    const session = await runtime.sessions.open();
    await talk(session, 1, 6);
    const fork = await session.fork({ at: { turn: 3 } });
    await fork.commit((draft) => {
      draft.facts.fork = true;
    });
    await session.rewind({ to: { turn: 4 } });
    await session.commit((draft) => {
      draft.facts.after = true;
    });
    const cold = await start();
    const again = await cold.sessions.get(session.id);
    expect((await again.state()).facts).toEqual({ turn1: 1, turn2: 2, turn3: 3, turn4: 4, after: true });
    expect((await again.state({ at: { turn: 2 } })).facts).toEqual({ turn1: 1, turn2: 2 });
    expect((await (await cold.sessions.get(fork.id)).state()).facts).toEqual({
      turn1: 1,
      turn2: 2,
      turn3: 3,
      fork: true,
    });
    await cold.close();
  });

  test('[STATE4] concurrent changes from two runtimes all land', async () => {
    const session = await runtime.sessions.open();
    const other = await start();
    const elsewhere = await other.sessions.get(session.id);
    await session.commit((draft) => {
      draft.facts.count = 0;
    });
    const bump = (each: Session) =>
      each.commit((draft) => {
        draft.facts.count = (draft.facts.count as number) + 1;
      });
    await Promise.all(Array.from({ length: 20 }, (_, index) => bump(index % 2 ? session : elsewhere)));
    expect((await session.state()).facts.count).toBe(20);
    await other.close();
  });

  test.each(agents)('[STATE5, AGT1] the own part of $name must fit its schema', async (agent) => {
    const session = await runtime.sessions.open({ agent });
    expect((await session.state()).own).toEqual(initial);
    const commit = await session.commit((draft) => {
      (draft.own.tags as string[]).shift();
      draft.own.port = 2;
    });
    expect(commit!.delta).toContainEqual({ op: 'test', path: '/own/tags', value: ['a', 'b', 'c'] });
    expect(commit!.delta).toHaveLength(3);
    const error = await failureOf(() => session.commit((draft) => Object.assign(draft.own, { tags: ['a', 5] })));
    expect(error).toMatchObject({ code: 'STATE_INVALID', details: { problems: [{ path: '/own/tags/1' }] } });
    expect((await session.state()).own).toEqual({ port: 2, tags: ['b', 'c'] });
  });

  test('[STATE5, STATE10] a schema that validates asynchronously, or rejects its initial state, is rejected at definition', async () => {
    const slow = z.object({}).refine(async () => true);
    expect(await failureOf(() => defineAgent({ name: 'slow', version: 1, state: slow }))).toMatchObject({
      code: 'AGENT_INVALID',
    });
    expect(await failureOf(() => defineAgent({ name: 'none', version: 1, state: schemas.zod as never }))).toMatchObject(
      {
        code: 'AGENT_INVALID',
        message: expect.stringContaining('initial'),
      },
    );
    expect(await failureOf(() => defineAgent({ name: 'Not a name', version: 0 }))).toMatchObject({
      code: 'AGENT_INVALID',
    });
  });

  test('[AGT1, AGT3] a changed state schema is migrated by a commit, and a version not held here is reported as unavailable', async () => {
    const one = defineAgent({
      name: 'coder',
      version: 1,
      state: z.object({ port: z.number() }),
      initial: { port: 80 },
    });
    const renamed = z.object({ listen: z.number() });
    const careless = defineAgent({ name: 'coder', version: 2, state: renamed, initial: { listen: 1 } });
    const two = defineAgent({
      name: 'coder',
      version: 3,
      state: renamed,
      initial: { listen: 1 },
      migrate: (own) => ({ listen: own.port as number }),
    });
    const session = await runtime.sessions.open({ agent: one });
    const holding = await openRuntime({ store: place.address, agents: [one, two], worker: false });
    const held = await holding.sessions.get(session.id);
    expect(await failureOf(() => session.commit((draft) => Object.assign(draft.own, { port: 1 })))).toMatchObject({
      code: 'AGENT_VERSION_UNAVAILABLE',
    });
    await session.commit((draft) => Object.assign(draft.facts, { still: 'fine' }));
    expect(await failureOf(() => held.bind(careless))).toMatchObject({
      code: 'AGENT_INVALID',
      message: expect.stringContaining('migrate'),
    });
    await held.bind(two);
    expect((await held.state()).own).toEqual({ listen: 80 });
    const [commit] = (await held.commits({ path: '/own/**', limit: 1 })).commits;
    expect(commit).toMatchObject({ origin: { kind: 'migrate', from: 1, to: 3 }, actor: 'member:local' });
    const { seq } = await held.summary();
    await held.bind(two);
    expect((await held.summary()).seq).toBe(seq);
    expect(await failureOf(() => held.bind(defineAgent({ name: 'other', version: 1 })))).toMatchObject({
      code: 'AGENT_INVALID',
    });
    await holding.close();
  });

  test("[PROV1] a model's commit has no higher provenance than its inputs", async () => {
    const session = await runtime.sessions.open();
    const remember = (key: string, options: object = {}) =>
      session.commit((draft) => Object.assign(draft.facts, { [key]: true }), { by: 'model', ...options });
    const [asked] = await session.append(user('it is 8080'));
    expect(await remember('a')).toMatchObject({ provenance: 'human', actor: 'agent:model' });
    expect(await remember('b', { provenance: 'verified' })).toMatchObject({ provenance: 'human' });
    expect(await remember('c', { provenance: 'unverified' })).toMatchObject({ provenance: 'unverified' });
    const tools = await session.track(
      { fetch: async () => 'from the web', probe: async () => 'open' },
      { probe: { trusted: true } },
    );
    await tools.probe();
    expect(await remember('d')).toMatchObject({ provenance: 'human' });
    await tools.fetch();
    expect(await remember('e')).toMatchObject({ provenance: 'unverified' });
    expect(await remember('f', { derivedFrom: [asked!.seq] })).toMatchObject({
      provenance: 'human',
      derivedFrom: [asked!.seq],
    });
    await session.append([answer('noted'), user('next')]);
    expect(await remember('g')).toMatchObject({ provenance: 'human' });
    expect(await failureOf(() => remember('h', { derivedFrom: [1] }))).toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('[PROV2] members and trusted tools may commit entries as verified, and lifting is a separate commit', async () => {
    const session = await runtime.sessions.open();
    await session.append(user('go'));
    const tools = await session.track(
      { fetch: async (_: object) => 1, probe: async (_: object) => 2 },
      {
        fetch: { change: (draft, _, output) => Object.assign(draft.facts, { fetched: output }) },
        probe: {
          trusted: true,
          effects: 'none',
          change: (draft, _, output) => Object.assign(draft.facts, { probed: output }),
        },
      },
    );
    await tools.fetch({});
    await tools.probe({});
    const [probed, fetched] = (await session.commits({ path: '/facts/*' })).commits;
    expect(probed).toMatchObject({ provenance: 'verified', actor: 'tool:probe' });
    expect(fetched).toMatchObject({ provenance: 'unverified', cause: { tool: 'fetch' } });
    const lift = await session.lift('/facts/fetched', { to: 'verified', why: 'read it myself' });
    expect(lift).toMatchObject({
      provenance: 'verified',
      delta: [],
      why: 'read it myself',
      actor: 'member:local',
      entries: ['/facts/fetched'],
    });
    expect(
      (await session.commits({ path: '/facts/fetched', provenance: 'verified' })).commits.map(({ seq }) => seq),
    ).toEqual([lift.seq]);
    expect(await failureOf(() => session.lift('/facts/none', { to: 'verified', why: 'x' }))).toMatchObject({
      code: 'STATE_INVALID',
    });
    expect(
      await session.commit((draft) => Object.assign(draft.facts, { said: 1 }), { provenance: 'verified' }),
    ).toMatchObject({
      provenance: 'verified',
    });
  });

  test('[REV1] a commit is reverted exactly, unless a later one touched the same path', async () => {
    const session = await runtime.sessions.open();
    await session.commit((draft) => Object.assign(draft.facts, { list: [1, 2, 3], port: 1 }));
    const before = await session.state();
    const wrong = await session.commit((draft) => {
      (draft.facts.list as number[]).splice(0, 2, 9);
      delete draft.facts.port;
      draft.decisions.d = { what: 'x', why: 'y' };
    });
    await session.commit((draft) => Object.assign(draft.facts, { other: true }));
    const reverted = await session.revert(wrong!.seq);
    expect(reverted).toMatchObject({ origin: { kind: 'revert', seq: wrong!.seq } });
    expect(await session.state()).toEqual({ ...before, facts: { ...before.facts, other: true } });
    const port = await session.commit((draft) => Object.assign(draft.facts, { port: 2 }));
    const later = await session.commit((draft) => Object.assign(draft.facts, { port: 3 }));
    expect(await failureOf(() => session.revert(port!.seq))).toMatchObject({
      code: 'REVERT_CONFLICT',
      details: { paths: ['/facts/port'], later: [later!.seq] },
    });
    expect(await failureOf(() => session.revert(1))).toMatchObject({ code: 'POINT_NOT_FOUND' });
  });

  test('[ADO1] adopting a branch merges it entry by entry and reports conflicting changes', async () => {
    const session = await runtime.sessions.open();
    await talk(session, 1, 2);
    const fork = await session.fork();
    await fork.commit((draft) => {
      draft.facts.turn1 = 'theirs';
      draft.facts.turn2 = 'theirs';
      draft.facts.added = 'theirs';
      draft.decisions.way = { what: 'the other way', why: 'shorter' };
    });
    await session.commit((draft) => Object.assign(draft.facts, { turn1: 'ours', mine: true }));
    expect(await failureOf(() => session.adopt(fork, { onConflict: 'fail' }))).toMatchObject({
      code: 'ADOPT_CONFLICT',
    });
    const { commit, adopted, conflicts } = await session.adopt(fork);
    expect(adopted).toEqual(['/decisions/way', '/facts/added', '/facts/turn2']);
    expect(conflicts).toEqual([{ path: '/facts/turn1', base: 1, ours: 'ours', theirs: 'theirs' }]);
    expect(commit).toMatchObject({ origin: { kind: 'adopt', session: fork.id }, provenance: 'human' });
    expect((await session.state()).facts).toEqual({ turn1: 'ours', turn2: 'theirs', added: 'theirs', mine: true });
    expect(await session.adopt(fork.id, { onConflict: 'theirs' })).toMatchObject({ adopted: ['/facts/turn1'] });
    expect(await failureOf(async () => session.adopt(await runtime.sessions.open()))).toMatchObject({
      code: 'ADOPT_CONFLICT',
    });
  });

  test('[CARRY1] a new session can begin with the state of another session, without its transcript', async () => {
    const old = await runtime.sessions.open();
    await old.append([user('hello'), answer('hi')]);
    await old.commit((draft) => {
      draft.facts.port = 8080;
      draft.plan.a = { step: 'go on', status: 'doing', order: 1 };
      draft.progress.p = { note: 'half way' };
      draft.scratch.s = 'gone';
    });
    await old.commit((draft) => Object.assign(draft.facts, { rumour: 1 }), { provenance: 'unverified' });
    const session = await runtime.sessions.open({ carryFrom: old, title: 'part two' });
    const state = await session.state();
    expect(state.facts).toEqual({ port: 8080, rumour: 1 });
    expect(state).toMatchObject({ plan: { a: { step: 'go on' } }, progress: { p: { note: 'half way' } }, scratch: {} });
    expect((await session.transcript()).entries).toEqual([]);
    expect((await session.commits()).commits).toMatchObject([
      {
        provenance: 'unverified',
        entryProvenance: { '/facts/port': 'human', '/facts/rumour': 'unverified', '/plan/a': 'human' },
        origin: { kind: 'carry', session: old.id },
      },
    ]);
  });

  test('[DIFF1] turns, branches and attempts at a turn are compared', async () => {
    const session = await runtime.sessions.open();
    await session.append([user('which way?'), answer('left')]);
    await session.commit((draft) => {
      draft.decisions.way = { what: 'left', why: 'it is shorter' };
      draft.pendingActions.ask = { what: 'ask Bea', status: 'open' };
    });
    await session.retry({ turn: 1 });
    await session.append(answer('right'));
    await session.commit((draft) => {
      draft.decisions.way = { what: 'right', why: 'it is dry' };
      draft.filesModified['a.txt'] = { change: 'created' };
    });
    const attempts = await session.diff({ turn: 1, attempt: 1 }, { turn: 1, attempt: 2 });
    expect(attempts.decisions).toEqual([
      { id: 'way', before: { what: 'left', why: 'it is shorter' }, after: { what: 'right', why: 'it is dry' } },
    ]);
    expect(attempts.pendingActions).toEqual([{ id: 'ask', before: { what: 'ask Bea', status: 'open' } }]);
    expect(attempts.filesModified).toEqual([{ id: 'a.txt', after: { change: 'created' } }]);
    const fork = await session.fork();
    await fork.commit((draft) => Object.assign(draft.facts, { dry: true }));
    const branches = await session.diff({ turn: 2 }, { session: fork.id });
    expect(branches).toMatchObject({ facts: [{ id: 'dry', after: true }], to: { session: fork.id } });
    expect(branches.patch).toEqual([{ op: 'add', path: '/facts/dry', value: true }]);
    expect(await failureOf(() => session.diff({ turn: 1, attempt: 3 }, { turn: 0 }))).toMatchObject({
      code: 'POINT_NOT_FOUND',
    });
    expect(await failureOf(() => session.diff({ turn: 1 }, { turn: 0 }))).toMatchObject({ code: 'POINT_NOT_FOUND' });
    expect(await failureOf(() => session.diff({} as never, { turn: 0 }))).toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('[DIFF2, DIFF3] each differing entry names the commit that set it on either side, with author and reason', async () => {
    const session = await runtime.sessions.open();
    await session.append([user('which port?'), answer('8080')]);
    const set = (port: number, why: string) => session.commit((draft) => Object.assign(draft.facts, { port }), { why });
    const first = await set(8080, 'a guess');
    await session.append([user('sure?'), answer('no')]);
    await session.commit((draft) => Object.assign(draft.facts, { port2: 1, gone: 1 }), { why: 'beside it' });
    const fork = await session.fork({ at: { turn: 1 } });
    const other = await fork.commit((draft) => Object.assign(draft.facts, { port: 9090 }), { why: 'the default' });
    const second = await set(8081, 'the test says so');
    await session.lift('/facts/port', { to: 'verified', why: 'seen' });
    const commitOf = (path: string, found: Awaited<ReturnType<typeof session.diff>>) => found.commits[path];
    const briefOf = ({ session, seq, turn, at, actor, why }: NonNullable<typeof first>) => ({
      session,
      seq,
      turn,
      at,
      actor,
      why,
    });
    expect(commitOf('/facts/port', await session.diff({ turn: 1 }, { turn: 2 }))).toEqual({
      before: briefOf(first!),
      after: briefOf(second!),
    });
    const across = await session.diff({ turn: 2 }, { session: fork.id });
    expect(commitOf('/facts/port', across)).toEqual({ before: briefOf(second!), after: briefOf(other!) });
    expect(Object.keys(commitOf('/facts/port2', across)!)).toEqual(['before']);
    const dropped = await session.commit((draft) => void delete draft.facts.gone, { why: 'not needed' });
    const removal = await session.diff({ seq: dropped!.seq - 1 }, { seq: dropped!.seq });
    expect(commitOf('/facts/gone', removal)).toMatchObject({
      before: { why: 'beside it' },
      after: { seq: dropped!.seq, why: 'not needed' },
    });
    await session.rewind({ to: { seq: first!.seq } });
    const rewound = await session.diff({ seq: dropped!.seq }, { session: session.id });
    expect(commitOf('/facts/port', rewound)).toEqual({ before: briefOf(second!), after: briefOf(first!) });
  });

  test('[DIFF3] files and counters contain the calls that changed them, and only the first hundred entries have their commits', async () => {
    const session = await runtime.sessions.open();
    await session.append(user('many'));
    const start = (await session.summary()).seq;
    await session.commit((draft) => {
      draft.filesModified['a.txt'] = { change: 'created' };
      for (let n = 0; n < 150; n++) draft.facts[`n${String(n).padStart(3, '0')}`] = n;
    });
    const { commits, facts } = await session.diff({ seq: start }, { session: session.id });
    expect(facts).toHaveLength(150);
    expect(Object.keys(commits)).toEqual(facts.slice(0, 100).map(({ id }) => `/facts/${id}`));
  });

  test('[WATCH1] a watcher receives each matching commit, once and in order', async () => {
    const session = await runtime.sessions.open();
    const other = await start();
    const elsewhere = await other.sessions.get(session.id);
    const seen: number[] = [];
    const watching = (async () => {
      for await (const { seq } of elsewhere.watchCommits({ path: '/facts/**', provenance: 'unverified', after: 0 })) {
        seen.push(seq);
        if (seen.length === 3) break;
      }
    })();
    const expected: number[] = [];
    for (let index = 0; index < 6; index++) {
      const provenance = index % 2 ? 'unverified' : 'human';
      const made = await session.commit((draft) => Object.assign(draft.facts, { [`f${index}`]: index }), {
        provenance,
      });
      await session.commit((draft) => Object.assign(draft.scratch, { index }), { provenance: 'unverified' });
      if (provenance === 'unverified') expected.push(made!.seq);
    }
    await watching;
    expect(seen).toEqual(expected);
    await other.close();
  });

  test('[QRY1, QRY2] questions about files and decisions are answered without reading the transcript', async () => {
    const { sessions } = runtime.as({ workspace: `questions-${kind}`, member: 'ann' });
    const session = await sessions.open();
    const tools = await session.track(
      { write: async ({ path }: { path: string }) => `${path} written` },
      { write: { files: ({ path }) => ({ [path]: 'modified' }) } },
    );
    for (let turn = 1; turn <= 8; turn++) {
      await session.append(user(`turn ${turn}`));
      await tools.write({ path: `src/file${turn}.ts` });
      if (turn === 3) await tools.write({ path: 'src/auth.ts' });
      await session.append(answer('done'));
    }
    const last = (await session.commits({ last: { turns: 5 }, path: '/filesModified/**' })).commits;
    const isOfFile = (entry: string): boolean => entry.startsWith('/filesModified/');
    expect(last.map(({ turn, cause, entries }) => [turn, cause?.tool, entries.find(isOfFile)])).toEqual(
      [8, 7, 6, 5, 4].map((turn) => [turn, 'write', `/filesModified/src~1file${turn}.ts`]),
    );
    expect((await session.commits({ turns: { from: 2, to: 3 }, path: '/filesModified/**' })).commits).toHaveLength(3);
    await session.rewind({ to: { turn: 6 } });
    expect((await session.commits({ last: { turns: 2 }, tool: 'write' })).commits.map(({ turn }) => turn)).toEqual([
      6, 5,
    ]);
    expect((await session.commits({ tool: 'write', includeRewound: true })).commits).toHaveLength(9);
    const fork = await session.fork({ at: { turn: 3 } });
    expect((await fork.commits({ tool: 'write' })).commits).toHaveLength(4);
    const other = await sessions.open();
    await other.append(user('x'));
    await (
      await other.track({ patch: async () => 1 }, { patch: { files: () => ({ 'src/auth.ts': 'modified' }) } })
    ).patch();
    const touched = (
      await sessions.commits({ path: '/filesModified/src~1auth.ts', since: Date.now() - 7 * 86_400_000 })
    ).commits;
    expect(touched.map(({ session: id, turn, cause }) => [id, turn, cause?.tool])).toEqual([
      [other.id, 1, 'patch'],
      [session.id, 3, 'write'],
    ]);
    expect((await sessions.toolCalls({ tool: 'patch', status: 'ok' })).calls).toMatchObject([
      { session: other.id, turn: 1, status: 'ok' },
    ]);
    expect((await session.toolCalls({ last: { turns: 2 } })).calls).toHaveLength(2);
  });

  test('[QRY4] projections are rebuilt with the same content', async () => {
    const ask = async () => ({
      commits: (await runtime.sessions.commits()).commits,
      calls: (await runtime.sessions.toolCalls()).calls,
      list: await runtime.sessions.list({ limit: 1000 }),
    });
    const before = await ask();
    expect(before.commits.length).toBeGreaterThan(20);
    expect(await runtime.sessions.rebuildProjections()).toBeGreaterThan(50);
    expect(await ask()).toEqual(before);
  });
});
