import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineScript, defineTool, openRuntime } from '../../index.ts';
import { isPerdureError } from '../../schema/error.ts';
import { newId } from '../../schema/ids.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { subagent } from '../../tools/index.ts';
import { permissionFor, permissions, type Verb } from '../runtime/permissions.ts';
import type { ScopedRuntime } from '../runtime/scoped-runtime.ts';

const local = (member: string, more = {}) => ({ workspace: 'local', member, ...more });
const script = defineScript({ name: 'says', everyTurn: true, steps: [{ text: 'Done.' }] });
const offered = defineAgent({ name: 'offered', model: script, offeredTo: 'own' });
const inner = defineAgent({ name: 'inner', model: script });

const open = async () => {
  const runtime = await openRuntime({ store: openMemoryStore(), agents: [offered, inner], worker: false });
  return {
    runtime,
    ada: runtime.as(local('ada')),
    bob: runtime.as(local('bob')),
    own: runtime.as(local('own', { reach: 'own' })),
    boss: runtime.as(local('boss', { role: 'admin' })),
  };
};

type Call = (...args: unknown[]) => unknown;
type Handle = Readonly<Record<string, Call>>;

/** Enough arguments that every verb gets past the checks of its input. */
const argsOf: Readonly<Record<string, readonly unknown[]>> = {
  'session.append': [{ role: 'user', content: 'x' }],
  'session.update': [{ title: 'x' }],
  'session.share': [{ visibility: 'workspace' }],
  'session.send': ['x'],
  'session.run': [newId('run')],
  'session.answer': ['call', 'text'],
  'session.approve': [newId('apr')],
  'session.deny': [newId('apr')],
  'session.handoff': [{ to: 'human' }],
  'session.limit': [{ turns: 1 }],
  'session.commit': [() => {}],
  'session.clearTaint': [{ reason: 'x' }],
  'session.lift': ['/facts/a', { to: 'verified', why: 'x' }],
  'session.revert': [2],
  'session.diff': [{ seq: 1 }, { seq: 1 }],
  'session.compare': [[{ seq: 1 }, { seq: 1 }]],
  'session.bind': [offered],
  'session.pin': ['a'],
  'session.unpin': ['a'],
  'session.recall': ['call:x'],
  'session.trace': ['/facts/x'],
  'session.track': [{}],
  'session.beginCall': [{ callId: 'c', tool: 't', input: {} }],
  'session.endCall': ['c', { token: `1.${'0'.repeat(32)}`, output: 1 }],
  'session.retry': [{ turn: 1 }],
  'session.replay': [{ turn: 1 }],
  'session.rewind': [{ to: { seq: 1 } }],
  'files.read': ['a.txt'],
  'files.write': ['a.txt', 'x'],
  'files.delete': ['a.txt'],
  'files.diff': [{ seq: 1 }, { seq: 1 }],
  'files.changes': [{ seq: 1 }, { seq: 1 }],
  'files.history': ['a.txt'],
  'files.restore': [{ seq: 1 }],
  'files.copyTo': ['/tmp/perdure-never-made'],
  'artifacts.keep': ['a.txt', 'x'],
  'artifacts.read': ['a.txt'],
};

const failureOf = async (call: () => unknown) => {
  try {
    const answer = await call();
    if (typeof (answer as AsyncIterable<unknown> | undefined)?.[Symbol.asyncIterator] === 'function') {
      for await (const _ of answer as AsyncIterable<unknown>) break;
    }
  } catch (error) {
    if (isPerdureError(error)) return { code: error.code, message: error.message };
    throw error;
  }
  return undefined;
};

const auditOf = async (boss: ScopedRuntime) =>
  (await boss.audit.list()).entries.filter(({ verb }) => verb !== 'audit.list');

const sessionVerbs = (['session', 'files', 'artifacts'] as const).flatMap((handle) =>
  Object.keys(permissions[handle]).map((method) => ({ handle, method, verb: `${handle}.${method}` as Verb })),
);

describe('what a caller sees', () => {
  test.for(sessionVerbs)(
    '[SEE3] $verb on a session that is no longer seen fails as if there were none',
    async (each) => {
      const { ada, runtime } = await open();
      const session = await ada.sessions.open({ title: 'Ours', agent: offered });
      const branch = await ada.sessions.open();
      const seen = await runtime.as(local('eve', { role: 'approver' })).sessions.get(session.id);
      await session.share({ visibility: 'private' });
      const handle = (each.handle === 'session' ? seen : seen[each.handle]) as unknown as Handle;
      const args = each.verb === 'session.adopt' ? [branch.id] : (argsOf[each.verb] ?? []);
      expect(await failureOf(() => handle[each.method]!(...args))).toEqual({
        code: 'SESSION_NOT_FOUND',
        message: `there is no session ${session.id} in workspace local: \`perdure ls\` lists the sessions`,
      });
      expect((await session.summary()).title, 'nothing changed').toBe('Ours');
    },
  );

  test('[SEE3] a session that is not seen does not exist as a place, a source or part of a listing either', async () => {
    const { ada, bob } = await open();
    const hidden = await ada.sessions.open({ title: 'Ours', visibility: 'private' });
    await hidden.commit((draft) => {
      draft.facts.secret = 'x';
    });
    const mine = await bob.sessions.open();
    const absent = newId('ses');
    const attempts: readonly ((id: string) => unknown)[] = [
      (id) => bob.sessions.get(id),
      (id) => bob.sessions.open({ carryFrom: id as never }),
      (id) => bob.sessions.export([id]),
      (id) => bob.sessions.export([mine.id, id]),
      (id) => mine.diff({ seq: 1 }, { session: id as never }),
      (id) => mine.diff({ seq: 1 }, { session: id as never, seq: 1 }),
      (id) => mine.adopt(id as never),
      (id) => mine.files.diff({ seq: 1 }, { session: id as never }),
      (id) => mine.files.changes({ seq: 1 }, { session: id as never }),
      (id) => mine.files.restore({ session: id as never }),
    ];
    for (const attempt of attempts) {
      const failure = await failureOf(() => attempt(hidden.id));
      expect(failure?.code, String(attempt)).toBe('SESSION_NOT_FOUND');
      expect(JSON.stringify(failure).replaceAll(hidden.id, absent)).toBe(
        JSON.stringify(await failureOf(() => attempt(absent))),
      );
    }
    expect((await bob.sessions.list()).sessions.map(({ id }) => id)).toEqual([mine.id]);
    expect((await bob.sessions.commits()).commits).toEqual([]);
    expect(await bob.usage({ session: hidden.id })).toEqual(await bob.usage({ session: absent }));
    expect((await ada.sessions.commits()).commits).toHaveLength(1);
  });

  test('[SEE2] the owner, members by name, the holder and, by visibility, the workspace see a session', async () => {
    const { ada, bob, own } = await open();
    const session = await ada.sessions.open();
    const sees = async (who: typeof bob) =>
      (await failureOf(() => who.sessions.get(session.id))) === undefined &&
      (await who.sessions.list()).sessions.some(({ id }) => id === session.id);
    const now = async () => [await sees(ada), await sees(bob), await sees(own)];
    expect(await now()).toEqual([true, true, false]);
    await session.share({ visibility: 'private' });
    expect(await now()).toEqual([true, false, false]);
    await session.share({ sharedWith: ['own'] });
    expect(await now()).toEqual([true, false, true]);
    await session.share({ visibility: 'workspace', sharedWith: [] });
    expect(await now()).toEqual([true, true, false]);
    await session.handoff({ to: { member: 'own' } });
    expect(await now()).toEqual([true, true, true]);
  });

  test('[SEE1] a fork inherits owner, visibility and sharing as they are now, also from an earlier point', async () => {
    const { ada, bob, own } = await open();
    const session = await ada.sessions.open();
    const { seq } = await session.summary();
    await session.share({ visibility: 'private', sharedWith: ['bob'] });
    const fork = await (await bob.sessions.get(session.id)).fork({ at: { seq } });
    expect(await fork.summary()).toMatchObject({ owner: 'ada', visibility: 'private', sharedWith: ['bob'] });
    expect(await failureOf(() => own.sessions.get(fork.id))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    await expect(fork.share({ visibility: 'workspace' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await session.share({ sharedWith: [] });
    const tree = await fork.tree();
    expect([tree.summary.id, tree.forks], 'a relative that is not seen is left out').toEqual([fork.id, []]);
  });

  test('[SEE6] only the owner and admins change who sees a session, and an admin is audited', async () => {
    const { ada, bob, boss } = await open();
    const session = await ada.sessions.open();
    await expect((await bob.sessions.get(session.id)).share({ visibility: 'private' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    });
    await (await boss.sessions.get(session.id)).share({ visibility: 'private' });
    expect(await session.summary()).toMatchObject({ visibility: 'private', owner: 'ada' });
    const [entry] = await auditOf(boss);
    expect(entry).toMatchObject({ verb: 'session.share', member: 'boss', target: session.id, outcome: 'done' });
    await expect(session.share({})).rejects.toMatchObject({ code: 'INVALID_INPUT' });
    await expect(session.share({ sharedWith: ['*'] })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
  });

  test('[SEE7] an admin sees a private session by its id, audited, and lists it only on request, audited', async () => {
    const { ada, boss, bob } = await open();
    const { id } = await ada.sessions.open({ visibility: 'private' });
    expect((await boss.sessions.list()).sessions).toEqual([]);
    expect(await auditOf(boss)).toEqual([]);
    const session = await boss.sessions.get(id);
    await session.summary();
    expect(await auditOf(boss)).toMatchObject([
      { verb: 'session.seePrivate', target: id, member: 'boss', outcome: 'done' },
    ]);
    expect((await boss.sessions.list({ includePrivate: true })).sessions).toMatchObject([{ id }]);
    expect((await auditOf(boss))[0]).toMatchObject({ verb: 'sessions.list', target: 'private' });
    await expect(bob.sessions.list({ includePrivate: true })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  test('[SEE4] a caller of the reach own works in its own sessions, and with agents that are offered to it', async () => {
    const { own } = await open();
    const session = await own.sessions.open({ agent: offered });
    await session.send('Go');
    expect(own.agents.list().map(({ name }) => name)).toEqual(['offered']);
    expect(() => own.agents.get('inner')).toThrow('there is no agent inner here; available: offered 1');
    await expect(own.sessions.open({ agent: inner })).rejects.toMatchObject({ code: 'AGENT_INVALID' });
    await expect(session.bind(inner)).rejects.toMatchObject({ code: 'AGENT_INVALID' });
    await expect(session.limit({ turns: 9 })).rejects.toMatchObject({ code: 'FORBIDDEN' });
    await expect(session.lift('/facts/a', { to: 'verified', why: 'x' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
  });

  test('[SEE4] an admin of the reach own administers nothing, and sees no private session', async () => {
    const { runtime, ada } = await open();
    const boss = runtime.as(local('small-boss', { role: 'admin', reach: 'own' })) as unknown as Record<string, Handle>;
    const { id } = await ada.sessions.open();
    expect(await failureOf(() => boss.sessions!.get!(id))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    const handles: Readonly<Record<string, Handle>> = { ...boss, runtime: boss as never };
    for (const [handle, methods] of Object.entries(permissions)) {
      for (const method of Object.keys(methods)) {
        const { role, reach } = permissionFor(`${handle}.${method}` as Verb);
        if (role !== 'admin') continue;
        expect([handle, method, reach]).toEqual([handle, method, 'workspace']);
        expect(await failureOf(() => handles[handle]![method]!())).toMatchObject({ code: 'FORBIDDEN' });
      }
    }
  });

  test('[SEE3, SEE5] changes report no session that the caller does not see, and pages stay full', async () => {
    const { ada, bob } = await open();
    const after = Date.now() - 60_000;
    for (let each = 0; each < 6; each++) await ada.sessions.open({ visibility: each % 2 ? 'private' : 'workspace' });
    const mine = await bob.sessions.open();
    const { sessions, cursor } = await bob.sessions.list({ limit: 2 });
    expect([sessions.length, cursor !== undefined]).toEqual([2, true]);
    expect((await bob.sessions.list({ limit: 2, cursor: cursor! })).sessions).toHaveLength(2);
    const found = new Set<string>();
    for await (const { session } of bob.changes({ after })) {
      found.add(session);
      if (session === mine.id || found.size === 4) break;
    }
    const visible = new Set((await bob.sessions.list()).sessions.map(({ id }) => id as string));
    expect([...found].filter((id) => !visible.has(id))).toEqual([]);
  });

  test('[SEE8] a follower of a session ends when its caller no longer sees it', async () => {
    const { ada, bob } = await open();
    const session = await ada.sessions.open();
    const events = (await bob.sessions.get(session.id)).events({ follow: true });
    expect((await events.next()).value).toMatchObject({ type: 'session.opened' });
    const next = events.next();
    await session.share({ visibility: 'private' });
    await expect(next).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('[SEE8] a read between the check and the hiding of a session yields nothing', async () => {
    const memory = openMemoryStore();
    let beforeRead = async (): Promise<unknown> => undefined;
    const store = new Proxy(memory, {
      get: (target, name) =>
        name === 'read'
          ? async (...given: Parameters<typeof memory.read>) => {
              await beforeRead();
              return target.read(...given);
            }
          : Reflect.get(target, name),
    });
    await using runtime = await openRuntime({ store, agents: [offered], worker: false });
    const session = await runtime.as(local('ada')).sessions.open();
    const events = (await runtime.as(local('bob')).sessions.get(session.id)).events({ follow: true });
    beforeRead = async () => {
      beforeRead = async () => {};
      await session.share({ visibility: 'private' });
    };
    await expect(events.next()).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('[SEE3] a run is no longer followed or cancelled when its session is no longer seen', async () => {
    const { ada, bob } = await open();
    const session = await ada.sessions.open({ agent: offered });
    const run = await (await bob.sessions.get(session.id)).send('Go');
    await session.share({ visibility: 'private' });
    for (const method of Object.keys(permissions.run)) {
      const failure = await failureOf(() => (run as unknown as Handle)[method]!());
      expect([method, failure?.code]).toEqual([method, 'SESSION_NOT_FOUND']);
    }
  });

  test('[SEE9] a handoff that a bundle adds to a private session shows it to no member of the same name', async () => {
    const [here, there] = [await open(), await open()];
    const session = await here.ada.sessions.open({ visibility: 'private' });
    await there.boss.sessions.import(session.export());
    const copy = await there.boss.sessions.get(session.id);
    await copy.handoff({ to: { member: 'own' } });
    await here.boss.sessions.import(copy.export());
    expect(await session.summary()).toMatchObject({ holder: 'human', seq: 2 });
    expect((await here.own.sessions.list()).sessions).toEqual([]);
    expect(await failureOf(() => here.own.sessions.get(session.id))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });

  test('[SEE8] a follower of an approver ends when the approval is void, before it gets later messages', async () => {
    const deploy = defineTool({ name: 'deploy', input: z.object({}), approval: true, execute: () => 'done' });
    const asks = defineScript({ name: 'asks', steps: [{ calls: [{ tool: 'deploy', input: {} }] }] });
    const agent = defineAgent({ name: 'deployer', model: asks, tools: [deploy] });
    await using runtime = await openRuntime({ store: openMemoryStore(), agents: [agent] });
    const session = await runtime.as(local('ada')).sessions.open({ agent, visibility: 'private' });
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    const { seq } = await session.summary();
    const eve = await runtime.as(local('eve', { role: 'approver' })).sessions.get(session.id);
    const events = eve.events({ follow: true, after: seq - 1 });
    expect((await events.next()).value).toMatchObject({ type: 'run.waiting' });
    const seen: string[] = [];
    const ended = expect(
      (async () => {
        for await (const event of events) seen.push(JSON.stringify(event));
      })(),
    ).rejects.toMatchObject({ code: 'SESSION_NOT_FOUND' });
    await run.cancel();
    await run.waitForEnd();
    await session.append({ role: 'user', content: 'Dear diary' });
    await ended;
    expect(seen.join()).not.toContain('diary');
  });

  test('[SEE7] an approver sees a private session while it has an open approval, audited, and not afterwards', async () => {
    const deploy = defineTool({
      name: 'deploy',
      description: 'Deploys.',
      input: z.object({}),
      effects: 'once',
      approval: true,
      execute: () => 'done',
    });
    const asks = defineScript({
      name: 'asks',
      everyTurn: true,
      steps: [{ calls: [{ tool: 'deploy', input: {} }] }, { text: 'Done.' }],
    });
    const agent = defineAgent({ name: 'deployer', model: asks, tools: [deploy] });
    await using runtime = await openRuntime({ store: openMemoryStore(), agents: [agent] });
    const [ada, eve, bob] = [
      runtime.as(local('ada')),
      runtime.as(local('eve', { role: 'approver' })),
      runtime.as(local('bob')),
    ];
    const session = await ada.sessions.open({ agent, visibility: 'private' });
    expect(await failureOf(() => eve.sessions.get(session.id))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    const run = await session.send('Go');
    expect(await run.result()).toMatchObject({ status: 'waiting', waitingFor: 'approval' });
    expect(await bob.approvals.list()).toEqual([]);
    expect((await eve.sessions.list()).sessions, 'listings leave it out').toEqual([]);
    const [approval] = await eve.approvals.list();
    expect(approval).toMatchObject({ session: session.id, tool: 'deploy' });
    expect((await (await eve.sessions.get(session.id)).transcript()).entries).not.toEqual([]);
    await eve.approvals.approve(approval!.id);
    expect(await run.waitForEnd()).toMatchObject({ status: 'succeeded' });
    expect(await failureOf(() => eve.sessions.get(session.id))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
    const entries = await auditOf(runtime.as(local('boss', { role: 'admin' })));
    expect(entries.filter(({ verb }) => verb === 'session.seePrivate')).toMatchObject([
      { member: 'eve', target: session.id, outcome: 'done' },
    ]);
  });

  test('[SEE1, SEE6] a subagent inherits owner and visibility, and follows when they change', async () => {
    const helper = defineAgent({ name: 'helper', model: script });
    const delegates = defineScript({
      name: 'delegates',
      everyTurn: true,
      steps: [{ calls: [{ tool: 'helper', input: { task: 'help' } }] }, { text: 'Done.' }],
    });
    const agent = defineAgent({
      name: 'lead',
      model: delegates,
      tools: [subagent(helper, { name: 'helper', description: 'Helps.' })],
    });
    await using runtime = await openRuntime({ store: openMemoryStore(), agents: [agent, helper] });
    const [ada, bob] = [runtime.as(local('ada')), runtime.as(local('bob'))];
    const session = await ada.sessions.open({ agent, visibility: 'private', sharedWith: ['bob'] });
    const run = await (await bob.sessions.get(session.id)).send('Go');
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    const child = (await ada.sessions.list()).sessions.find(({ calledBy }) => calledBy)!;
    expect(child).toMatchObject({ owner: 'ada', visibility: 'private', sharedWith: ['bob'] });
    await session.share({ sharedWith: [] });
    expect((await bob.sessions.list()).sessions).toEqual([]);
    expect(await failureOf(() => bob.sessions.get(child.id))).toMatchObject({ code: 'SESSION_NOT_FOUND' });
  });
});
