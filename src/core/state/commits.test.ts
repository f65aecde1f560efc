import { expect, test } from 'vitest';
import { openRuntime } from '../../runtime.ts';
import { type Actor, newId, type RunId, type WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import type { RuntimeStore } from '../ports/runtime-store.ts';
import type { Session } from '../runtime/session.ts';
import { encodeEvent } from '../session/events/event-codec.ts';
import type { CallFilter, CommitFilter } from './record-filter.ts';

const open = () => openRuntime({ store: openMemoryStore(newMemoryDatabase()) });
const refusal = { code: 'INVALID_INPUT' };

const touchFile = (session: Session, file: string) =>
  session.commit((draft) => {
    draft.filesModified[file] = { change: 'modified' };
  });
const askFor = (session: Session, content: string) => session.append({ role: 'user', content });
const filesOf = (commits: readonly { readonly entries: readonly string[] }[]) =>
  commits.flatMap((each) => each.entries);

test('[QRY3] a call that ends during a query is not reported as interrupted', async () => {
  const real = openMemoryStore();
  let beforeFinding = async (): Promise<void> => undefined;
  const store: RuntimeStore = {
    ...real,
    findCalls: async (...query) => {
      await beforeFinding();
      return real.findCalls(...query);
    },
  };
  const session = await (await openRuntime({ store })).sessions.open();
  for (const includeRewound of [false, true]) {
    const begun = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const { wait } = await session.track({
      wait: () => {
        begun.resolve();
        return over.promise;
      },
    });
    const waiting = wait();
    await begun.promise;
    beforeFinding = async () => {
      over.resolve();
      await waiting;
    };
    expect((await session.toolCalls({ includeRewound, limit: 1 })).calls.map(({ status }) => status)).toEqual(['ok']);
  }
});

test('[QRY7] a meaningless query is rejected rather than answered with nothing or everything', async () => {
  const runtime = await open();
  const session = await runtime.sessions.open();
  const windows = [
    { limit: -1 },
    { last: { turns: Number.NaN } },
    { last: { turns: 0 } },
    { last: { turns: 1 }, turns: { from: 3 } },
    { turns: { from: 1.5 } },
    { since: new Date('never') },
    { includeRewound: 'yes' as never },
    { toool: 'edit' } as never,
  ] satisfies CallFilter[];
  const calls = [
    ...windows,
    { status: 'bogus' as never },
    { status: ['ok', 'bogus' as never] },
    { run: 'mine' as never },
    { provenance: 'human' } as never,
    { path: '/facts' } as never,
  ] satisfies CallFilter[];
  const commits = [
    ...windows,
    { path: 'facts/port' },
    { provenance: 'sure' as never },
    { paths: '/facts/**' } as never,
    { status: 'ok' } as never,
  ] satisfies CommitFilter[];
  for (const filter of calls) await expect(session.toolCalls(filter)).rejects.toMatchObject(refusal);
  for (const filter of commits) await expect(session.commits(filter)).rejects.toMatchObject(refusal);
  await expect(runtime.sessions.commits({ limit: 0 })).rejects.toMatchObject(refusal);
  await runtime.close();
});

test('[QRY2] turns belong to one session, so a workspace query by turns is rejected', async () => {
  const { sessions } = await open();
  for (const filter of [{ last: { turns: 1 } }, { turns: { from: 1 } }]) {
    const expected = { ...refusal, message: expect.stringContaining('one session') };
    await expect(sessions.commits(filter as never)).rejects.toMatchObject(expected);
    await expect(sessions.toolCalls(filter as never)).rejects.toMatchObject(expected);
  }
});

test('[QRY1] commits are found by a name pattern', async () => {
  const { sessions } = await open();
  const session = await sessions.open();
  for (const file of ['src/auth.ts', 'src/deep/b.ts', 'srcs/c.ts', 'test/auth.ts']) await touchFile(session, file);
  const found = async (path: string) =>
    filesOf((await session.commits({ path })).commits).map((entry) => entry.slice(15));
  expect(await found('/filesModified/src~1*')).toEqual(['src~1deep~1b.ts', 'src~1auth.ts']);
  expect(await found('/filesModified/*~1auth.ts')).toEqual(['test~1auth.ts', 'src~1auth.ts']);
  expect(await found('/files*/s*~1*.ts/change')).toEqual(['srcs~1c.ts', 'src~1deep~1b.ts', 'src~1auth.ts']);
  expect((await sessions.commits({ path: '/filesModified/src~1*' })).commits).toHaveLength(2);
});

test('[QRY2, QRY12] a workspace query omits records that rewinds left behind, unless includeRewound is set', async () => {
  const { sessions } = await open();
  const session = await sessions.open();
  const tools = await session.track({ edit: async () => 'done' });
  await askFor(session, 'one');
  await touchFile(session, 'a.ts');
  await askFor(session, 'two');
  await touchFile(session, 'b.ts');
  await tools.edit();
  await session.rewind({ to: { turn: 1 } });
  const path = '/filesModified/**';
  expect(filesOf((await sessions.commits({ path })).commits)).toEqual(['/filesModified/a.ts']);
  expect((await sessions.toolCalls()).calls).toEqual([]);
  const all = { includeRewound: true };
  expect(filesOf((await sessions.commits({ path, ...all })).commits)).toEqual([
    '/filesModified/b.ts',
    '/filesModified/a.ts',
  ]);
  expect((await sessions.toolCalls(all)).calls).toHaveLength(1);
});

test('[QRY2, QRY12] a workspace query includes records that a rewind left behind if a fork still inherits them', async () => {
  const { sessions } = await open();
  const session = await sessions.open();
  await askFor(session, 'one');
  await touchFile(session, 'a.ts');
  await askFor(session, 'two');
  await touchFile(session, 'b.ts');
  const early = await session.fork({ at: { turn: 1 } });
  const branch = await session.fork();
  const deeper = await branch.fork();
  await session.rewind({ to: { turn: 1 } });
  const files = async () => filesOf((await sessions.commits({ path: '/filesModified/**' })).commits).toSorted();
  expect(await files()).toEqual(['/filesModified/a.ts', '/filesModified/b.ts']);
  await branch.rewind({ to: { turn: 1 } });
  expect(await files()).toHaveLength(2);
  await deeper.rewind({ to: { turn: 1 } });
  await early.update({ title: 'goes on without it' });
  expect(await files()).toEqual(['/filesModified/a.ts']);
});

test('[QRY1] pages continue past entries that a query omits', async () => {
  const { sessions } = await open();
  const session = await sessions.open();
  await askFor(session, 'one');
  await touchFile(session, 'first.ts');
  await askFor(session, 'two');
  for (let index = 0; index < 250; index++) await touchFile(session, `${index}.ts`);
  await session.rewind({ to: { turn: 1 } });
  expect(filesOf((await sessions.commits({ limit: 1 })).commits)).toEqual(['/filesModified/first.ts']);
});

test('[QRY1, QRY3] commits and calls are found by their actor, in a session and in a workspace', async () => {
  const runtime = await open();
  const { id } = await runtime.sessions.open();
  const sessionsOf = (member: string) => runtime.as({ workspace: 'local', member }).sessions;
  for (const member of ['ann', 'bob']) {
    const session = await sessionsOf(member).get(id);
    await askFor(session, 'go');
    await touchFile(session, `${member}.ts`);
    await (await session.track({ edit: async () => 'done' })).edit();
  }
  const actor = 'member:bob';
  for (const asked of [await runtime.sessions.get(id), runtime.sessions]) {
    expect((await asked.toolCalls({ actor })).calls).toMatchObject([{ actor, turn: 2, status: 'ok' }]);
    expect((await asked.commits({ actor })).commits).toMatchObject([
      { actor, turn: 2, entries: ['/filesModified/bob.ts'] },
    ]);
    expect((await asked.toolCalls({ actor: 'member:eve' })).calls).toEqual([]);
  }
  expect((await (await runtime.sessions.get(id)).toolCalls({ actor, turns: { to: 1 } })).calls).toEqual([]);
});

test('[QRY3] calls are found by their run', async () => {
  const store = openMemoryStore();
  const { sessions } = await openRuntime({ store });
  const session = await sessions.open();
  const runs = [newId('run'), newId('run')];
  for (const [index, run] of [...runs, ...runs].entries()) {
    const payload = { callId: `c${index}`, tool: 'edit', input: {}, inputHash: 'a'.repeat(64) };
    const event = encodeEvent({ type: 'tool.called', payload, actor: 'agent:coder' as Actor, turn: 'current', run });
    const key = { workspace: 'local' as WorkspaceId, session: session.id };
    await store.append({ ...key, writer: { kind: 'run', epoch: 0, claim: '' }, at: index, events: [event] });
  }
  const calls = async (run: RunId | undefined) => (await session.toolCalls({ run })).calls.map(({ callId }) => callId);
  expect(await calls(undefined)).toEqual(['c3', 'c2', 'c1', 'c0']);
  expect(await calls(runs[1])).toEqual(['c3', 'c1']);
  expect((await sessions.toolCalls({ run: runs[0], limit: 1 })).calls.map(({ callId }) => callId)).toEqual(['c2']);
});
