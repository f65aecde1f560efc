import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { tryLock } from '../src/core/files/disk/place-lock.ts';
import type { ToolContext } from '../src/core/ports/tool.ts';
import {
  defineAgent,
  defineScript,
  defineTool,
  openRuntime,
  type Runtime,
  type Session,
  type SessionEvent,
} from '../src/index.ts';
import type { EventType } from '../src/schema/event.ts';
import type { Json } from '../src/schema/json.ts';
import { defineShellTool, readTool, subagent, writeTool } from '../src/tools/index.ts';
import { newStorePlace, type StoreKind } from './stores.ts';

const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const newFolder = async (): Promise<string> => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'perdure-run-files-')));
  undo.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

const providerKey = 'sk-test-0123456789';
type Act = (context: ToolContext) => unknown;

const namesIn = (folder: string): readonly string[] => readdirSync(folder).filter((name) => name !== '.perdure');

/** Everything in a folder: content, modes, links. */
const contentOf = (folder: string, path = ''): Record<string, string> =>
  Object.assign(
    {},
    ...namesIn(join(folder, path)).map((name): Record<string, string> => {
      const at = path === '' ? name : `${path}/${name}`;
      const stats = lstatSync(join(folder, at));
      if (stats.isSymbolicLink()) return { [at]: `-> ${readlinkSync(join(folder, at))}` };
      if (stats.isDirectory()) return contentOf(folder, at);
      return { [at]: `${(stats.mode & 0o777).toString(8)} ${readFileSync(join(folder, at), 'utf8')}` };
    }),
  );
const write =
  (files: Readonly<Record<string, string>>): Act =>
  ({ folder }) => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  };
const eventsOf = async <T extends EventType>(session: Session, type: T): Promise<readonly SessionEvent<T>[]> =>
  (await Array.fromAsync(session.events())).filter(({ type: each }) => each === type) as never;

/** What holds of the files of runs, whatever the store. */
export const describeRunFiles = (kind: StoreKind) =>
  describe(`files of runs on ${kind}`, () => {
    /** An agent whose only tool does what the test says next, on any number of machines with one store. */
    const start = async ({ prepare }: { readonly prepare?: string } = {}) => {
      const place = await newStorePlace(kind);
      undo.push(place.remove);
      let act: Act = () => undefined;
      let seen: ToolContext | undefined;
      const doIt = async (_: unknown, context: ToolContext) => {
        seen = context;
        return (await act(context)) ?? 'done';
      };
      const once = defineTool({ name: 'act', input: z.object({}), execute: doIt });
      const repeatable = defineTool({ name: 'repeat', input: z.object({}), effects: 'idempotent', execute: doIt });
      const look = defineTool({
        name: 'look',
        input: z.object({}),
        effects: 'none',
        execute: (_, context) => {
          seen = context;
          return contentOf(context.folder);
        },
      });
      const shell = defineShellTool({ sandbox: 'off', approval: false });
      const agent = defineAgent({
        name: 'tester',
        version: 1,
        model: 'scripted/test',
        tools: [once, repeatable, look, shell],
        ...(prepare && { prepare }),
      });
      const steps = [
        { when: { answers: 0, userMatches: 'look' }, calls: [{ tool: 'look', input: {} }] },
        { when: { answers: 0, userMatches: 'stare' }, calls: Array(20).fill({ tool: 'look', input: {} }) },
        { when: { answers: 0, userMatches: 'repeat' }, calls: [{ tool: 'repeat', input: {} }] },
        { when: { answers: 0 }, calls: [{ tool: 'act', input: {} }] },
        { text: 'Done.' },
      ];
      const machine = async (data?: string): Promise<Runtime> => {
        const runtime = await openRuntime({
          store: place.address,
          agents: [agent],
          models: {
            scripts: [defineScript({ name: 'test', everyTurn: true, steps })],
            providers: { hosted: { baseUrl: 'http://127.0.0.1:9', apiKey: providerKey } },
          },
          data: data ?? (await newFolder()),
        });
        undo.push(() => runtime.close());
        return runtime;
      };
      const work = async (runtime: Runtime, session: Session): Promise<void> =>
        runtime.worker({ session: session.id, pollMs: 50 }).runUntilIdle();
      const turn = async (runtime: Runtime, session: Session, next: Act): Promise<void> => {
        act = next;
        const run = await session.send('act');
        await work(runtime, session);
        expect(await run.result()).toMatchObject({ status: 'succeeded' });
      };
      /** What a tool that only looks finds there. */
      const found = async (runtime: Runtime, session: Session): Promise<unknown> => {
        const run = await session.send('look');
        await work(runtime, session);
        expect(await run.result()).toMatchObject({ status: 'succeeded' });
        return (await eventsOf(session, 'tool.completed')).at(-1)!.payload.output;
      };
      const set = (next: Act) => {
        act = next;
      };
      /** Cancelled in the middle of a call that has done so much. */
      const cancelAfter = async (runtime: Runtime, session: Session, next: Act): Promise<void> => {
        const { promise: reached, resolve: reach } = Promise.withResolvers<void>();
        act = (context) => {
          next(context);
          reach();
          return new Promise((_, reject) => {
            context.signal.addEventListener('abort', () => reject(context.signal.reason));
          });
        };
        const run = await session.send('act');
        const worker = runtime.worker({ pollMs: 50 });
        await worker.start();
        await reached;
        await run.cancel();
        await worker.stop();
      };
      return { agent, machine, turn, cancelAfter, found, work, set, seen: () => seen! };
    };

    test('[FILE17] what a call changed is committed with it: created, modified, renamed, deleted, by that call', async () => {
      const { agent, machine, turn } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one', 'b/c.txt': 'two', d: 'three' }));
      await turn(runtime, session, ({ folder }) => {
        writeFileSync(join(folder, 'a.txt'), 'changed');
        renameSync(join(folder, 'b/c.txt'), join(folder, 'moved.txt'));
        rmSync(join(folder, 'd'));
      });
      const calls = (await session.toolCalls()).map(({ callId }) => callId);
      const [last, first] = await session.commits({ path: '/filesModified/**' });
      expect(first).toMatchObject({ turn: 1, cause: { tool: 'act', callId: calls[1] } });
      expect(last).toMatchObject({ turn: 2, cause: { tool: 'act', callId: calls[0] }, provenance: 'unverified' });
      const by = { tool: 'act', callId: calls[0] };
      expect((await session.state()).filesModified).toEqual({
        'a.txt': { change: 'modified', ...by },
        'b/c.txt': { change: 'deleted', ...by },
        'moved.txt': { change: 'renamed', from: 'b/c.txt', ...by },
        d: { change: 'deleted', ...by },
      });
      expect((await eventsOf(session, 'files.snapshotted')).map(({ payload }) => payload.changed)).toEqual([
        { created: 3, modified: 0, deleted: 0, renamed: 0 },
        { created: 0, modified: 1, deleted: 1, renamed: 1 },
      ]);
      expect(await session.verify()).toMatchObject({ ok: true });
    });

    test('[FILE17] a call that changes nothing says nothing; one that fails tells what it left', async () => {
      const { agent, machine, turn } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, () => undefined);
      expect(await eventsOf(session, 'files.snapshotted')).toEqual([]);
      await turn(runtime, session, (context) => {
        write({ half: 'done' })(context);
        throw new Error('broken off');
      });
      expect((await session.state()).filesModified).toMatchObject({ half: { change: 'created', tool: 'act' } });
      expect((await session.toolCalls())[0]).toMatchObject({ status: 'threw' });
    });

    test('[FILE17] what a snapshot leaves out is counted in its event', async () => {
      const { agent, machine, turn } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, (context) => {
        write({ 'node_modules/a/index.js': 'x', 'kept.txt': 'y' })(context);
        execFileSync('mkfifo', [join(context.folder, 'pipe')]);
        execFileSync('truncate', ['-s', '40M', join(context.folder, 'big')]);
        write({ '.env': `KEY=${providerKey}` })(context);
      });
      const [event] = await eventsOf(session, 'files.snapshotted');
      expect(event!.payload.leftOut).toEqual({
        ignored: { count: 1, paths: ['node_modules'] },
        special: { count: 1, paths: ['pipe'] },
        'too-big': { count: 1, paths: ['big'] },
        secret: { count: 1, paths: ['.env'] },
      });
    });

    test('[FILE17] a call that changes only what is left out is told by its count', async () => {
      const { agent, machine, turn } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await turn(runtime, session, write({ 'node_modules/x': 'x' }));
      const [first, second] = await eventsOf(session, 'files.snapshotted');
      expect(second!.payload.tree).toBe(first!.payload.tree);
      expect(second!.payload.leftOut).toEqual({ ignored: { count: 1, paths: ['node_modules'] } });
    });

    test('[FILE18] sessions have folders of their own, for files and for what is temporary', async () => {
      const { agent, machine, turn, found, seen } = await start();
      const runtime = await machine();
      const [one, two] = [await runtime.sessions.open({ agent }), await runtime.sessions.open({ agent })];
      await turn(runtime, one, write({ 'a.txt': 'of one' }));
      const first = seen();
      expect(await found(runtime, two)).toEqual({});
      expect(seen().folder).not.toBe(first.folder);
      expect(seen().temporary).not.toBe(first.temporary);
      expect(existsSync(seen().temporary)).toBe(true);
      expect(lstatSync(dirname(seen().folder)).mode & 0o077).toBe(0);
    });

    test('[FILE19] another machine, a fork and a rewind have the files of exactly that point', async () => {
      const { agent, machine, turn, found } = await start();
      const [here, there] = [await machine(), await machine()];
      const session = await here.sessions.open({ agent });
      await turn(here, session, (context) => {
        write({ 'a.txt': 'one', 'run.sh': '#!/bin/sh\n' })(context);
        chmodSync(join(context.folder, 'run.sh'), 0o755);
        symlinkSync('a.txt', join(context.folder, 'link'));
      });
      const first = { 'a.txt': '644 one', 'run.sh': '755 #!/bin/sh\n', link: '-> a.txt' };
      await turn(here, session, write({ 'a.txt': 'two', 'b.txt': 'new' }));
      const second = { ...first, 'a.txt': '644 two', 'b.txt': '644 new' };
      expect(await found(there, await there.sessions.get(session.id))).toEqual(second);
      const fork = await session.fork({ at: { turn: 1 } });
      expect(await found(there, await there.sessions.get(fork.id))).toEqual(first);
      await turn(there, await there.sessions.get(fork.id), write({ 'fork.txt': 'x' }));
      expect(await found(here, session)).toEqual(second);
      await session.rewind({ to: { turn: 1 } });
      expect(await found(here, session)).toEqual(first);
      expect(await found(there, await there.sessions.get(session.id))).toEqual(first);
      expect(await found(here, await here.sessions.get(fork.id))).toEqual({ ...first, 'fork.txt': '644 x' });
      expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
    });

    test('[FILE20] what nobody here did is told as done outside, before the next call', async () => {
      const { agent, machine, turn, found, seen } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one', 'b.txt': 'one' }));
      writeFileSync(join(seen().folder, 'a.txt'), 'by hand');
      await turn(runtime, session, write({ 'b.txt': 'two' }));
      const commits = await session.commits({ path: '/filesModified/**' });
      expect(commits.map(({ actor, delta }) => [actor, delta.map(({ path }) => path)])).toEqual([
        ['tool:act', expect.arrayContaining([expect.stringMatching(/^\/filesModified\/b\.txt/)])],
        ['outside', expect.arrayContaining([expect.stringMatching(/^\/filesModified\/a\.txt/)])],
        ['tool:act', expect.arrayContaining(['/filesModified/a.txt', '/filesModified/b.txt'])],
      ]);
      expect((await session.state()).filesModified['a.txt']).toEqual({ change: 'modified', after: expect.any(Number) });
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 by hand', 'b.txt': '644 two' });
    });

    test('[FILE20] what was done outside is kept before a rewind or another machine takes its place', async () => {
      const { agent, machine, turn, found, seen } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await turn(runtime, session, write({ 'a.txt': 'two' }));
      writeFileSync(join(seen().folder, 'mine.txt'), 'by hand');
      await session.rewind({ to: { turn: 1 } });
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 one' });
      const [kept] = await eventsOf(session, 'files.conflicted');
      expect(kept).toMatchObject({ actor: 'outside', payload: { paths: expect.arrayContaining(['mine.txt']) } });
      const mine = await session.files.read('mine.txt', { setAside: kept!.seq });
      expect(Buffer.from(mine).toString()).toBe('by hand');
      await expect(session.files.list({ setAside: 1 })).rejects.toMatchObject({ code: 'POINT_NOT_FOUND' });
      await expect(session.files.list({ setAside: 1, at: { seq: 1 } })).rejects.toMatchObject({
        code: 'INVALID_INPUT',
      });
      expect(await session.verify()).toMatchObject({ ok: true });
    });

    test("[FILE21] what a call wrote whose worker was lost is told as that call's", async () => {
      const { agent, machine, work, set, seen } = await start();
      const data = await newFolder();
      const first = await machine(data);
      const session = await first.sessions.open({ agent });
      const { promise: written, resolve: hasWritten } = Promise.withResolvers<void>();
      set((context) => {
        write({ 'half.txt': 'half' })(context);
        hasWritten();
        return new Promise((_, reject) => {
          context.signal.addEventListener('abort', () => reject(context.signal.reason));
        });
      });
      const run = await session.send('act');
      await first.worker().start();
      await written;
      await first.close();
      const second = await machine(data);
      await work(second, await second.sessions.get(session.id));
      const again = await second.sessions.get(session.id);
      const [call] = await again.toolCalls();
      expect(call).toMatchObject({ tool: 'act', status: 'interrupted' });
      expect((await again.state()).filesModified).toEqual({
        'half.txt': { change: 'created', tool: 'act', callId: call!.callId },
      });
      expect(readFileSync(join(seen().folder, 'half.txt'), 'utf8')).toBe('half');
      expect(run.session).toBe(session.id);
    });

    test.each(['its own', "a person's"])(
      '[FILE21] what a lost call wrote in %s folder is joined with what was written from elsewhere since',
      async (whose) => {
        const { agent, machine, work, set, turn, found } = await start();
        const data = await newFolder();
        const first = await machine(data);
        const cwd = whose === 'its own' ? undefined : await newFolder();
        const session = await first.sessions.open({ agent, ...(cwd && { files: { cwd } }) });
        await turn(first, session, write({ 'a.txt': 'one' }));
        const { promise: written, resolve: hasWritten } = Promise.withResolvers<void>();
        set((context) => {
          write({ 'half.txt': 'half' })(context);
          hasWritten();
          return new Promise((_, reject) => {
            context.signal.addEventListener('abort', () => reject(context.signal.reason));
          });
        });
        await session.send('act');
        await first.worker().start();
        await written;
        await first.close();
        const second = await machine(data);
        const again = await second.sessions.get(session.id);
        await again.files.write('a.txt', 'from elsewhere');
        await work(second, again);
        const [call] = await again.toolCalls();
        expect((await again.state()).filesModified['half.txt']).toEqual({
          change: 'created',
          tool: 'act',
          callId: call!.callId,
        });
        expect(await found(second, again)).toEqual({ 'a.txt': '644 from elsewhere', 'half.txt': '644 half' });
        expect(await eventsOf(again, 'files.conflicted')).toEqual([]);
      },
    );

    test("[FILE21] what a cancelled call had written is told as that call's, before the next one", async () => {
      const { agent, machine, turn, cancelAfter } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await cancelAfter(runtime, session, write({ 'half.txt': 'half' }));
      const [call] = await session.toolCalls();
      await turn(runtime, session, write({ 'next.txt': 'x' }));
      expect((await session.state()).filesModified['half.txt']).toEqual({
        change: 'created',
        tool: 'act',
        callId: call!.callId,
      });
    });

    test("[FILE21] what a cancelled call had written is told as that call's, however many come next", async () => {
      const { agent, machine, cancelAfter, work } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await cancelAfter(runtime, session, write({ 'half.txt': 'half' }));
      const [call] = await session.toolCalls();
      const run = await session.send('stare');
      await work(runtime, session);
      expect(await run.result()).toMatchObject({ status: 'succeeded' });
      expect((await session.state()).filesModified['half.txt']).toMatchObject({ callId: call!.callId });
    });

    test.each(['its own', "a person's"])(
      '[FILE21] what a cancelled call had written in %s folder is joined with what was written from elsewhere since',
      async (whose) => {
        const { agent, machine, turn, cancelAfter, found } = await start();
        const cwd = whose === 'its own' ? undefined : await newFolder();
        const [here, there] = [await machine(), await machine()];
        const session = await here.sessions.open({ agent, ...(cwd && { files: { cwd } }) });
        await turn(here, session, write({ 'a.txt': 'one' }));
        await cancelAfter(here, session, write({ 'half.txt': 'half' }));
        const [call] = await session.toolCalls();
        await session.files.write('a.txt', 'from elsewhere');
        if (!cwd) await turn(there, await there.sessions.get(session.id), write({ 'b.txt': 'on another machine' }));
        const all = { 'a.txt': '644 from elsewhere', 'half.txt': '644 half' };
        expect(await found(here, session)).toEqual({ ...all, ...(!cwd && { 'b.txt': '644 on another machine' }) });
        expect((await session.state()).filesModified['half.txt']).toEqual({
          change: 'created',
          tool: 'act',
          callId: call!.callId,
        });
        expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
      },
    );

    test("[FILE21] what a cancelled call had written in a person's folder is told as that call's before a restore", async () => {
      const { agent, machine, turn, cancelAfter } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent, files: { cwd: await newFolder() } });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await cancelAfter(runtime, session, write({ 'half.txt': 'half' }));
      const [call] = await session.toolCalls();
      await session.files.restore({ turn: 1 });
      const commits = await session.commits({ path: '/filesModified/half.txt' });
      expect(commits.map(({ actor, cause }) => [actor, cause?.callId])).toEqual([
        ['member:local', undefined],
        ['tool:act', call!.callId],
      ]);
    });

    test("[FILE20] what somebody does after a cancelled call was looked for is not told as that call's", async () => {
      const { agent, machine, turn, cancelAfter, found, seen } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await cancelAfter(runtime, session, () => undefined);
      await found(runtime, session);
      writeFileSync(join(seen().folder, 'a.txt'), 'by hand');
      await found(runtime, session);
      const [last] = await session.commits({ path: '/filesModified/a.txt' });
      expect(last).toMatchObject({ actor: 'outside' });
    });

    test('[FILE22] a session begins with a copy of a folder, whose own it does not touch', async () => {
      const { agent, machine, turn, found } = await start();
      const source = await newFolder();
      writeFileSync(join(source, 'a.txt'), 'mine');
      mkdirSync(join(source, 'node_modules'));
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent, files: { from: source } });
      const [event] = await eventsOf(session, 'files.snapshotted');
      expect(event!.payload).toMatchObject({
        origin: { kind: 'folder', path: source },
        leftOut: { ignored: { count: 1 } },
      });
      expect((await session.state()).filesModified).toEqual({});
      expect(await found(await machine(), session)).toEqual({ 'a.txt': '644 mine' });
      await turn(runtime, session, write({ 'a.txt': 'changed' }));
      expect(readFileSync(join(source, 'a.txt'), 'utf8')).toBe('mine');
      await expect(runtime.sessions.open({ files: { from: join(source, 'nothing') } })).rejects.toMatchObject({
        code: 'FILE_UNAVAILABLE',
      });
    });

    test('[FILE22] a session begins with a real clone, at a branch, whose history any machine has', async () => {
      const { agent, machine, turn, seen } = await start();
      const source = await newFolder();
      const git = (...args: string[]) =>
        execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: source, encoding: 'utf8' });
      git('init', '-qb', 'main');
      writeFileSync(join(source, 'a.txt'), 'first');
      git('add', '.');
      git('commit', '-qm', 'The first');
      git('checkout', '-qb', 'other');
      writeFileSync(join(source, 'a.txt'), 'other');
      git('commit', '-qam', 'The other');
      git('checkout', '-q', 'main');
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent, files: { git: source, ref: 'other' } });
      const [event] = await eventsOf(session, 'files.snapshotted');
      expect(event!.payload.origin).toEqual({
        kind: 'git',
        repository: source,
        commit: git('rev-parse', 'other').trim(),
      });
      await turn(await machine(), session, ({ folder }) => {
        writeFileSync(join(folder, 'a.txt'), 'more');
        execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qam', 'More'], { cwd: folder });
      });
      const log = execFileSync('git', ['log', '--format=%s'], { cwd: seen().folder, encoding: 'utf8' });
      expect(log).toBe('More\nThe other\nThe first\n');
      expect(Object.keys((await session.state()).filesModified).sort()).toEqual(['.git/', 'a.txt']);
      await expect(runtime.sessions.open({ files: { git: join(source, 'nothing') } })).rejects.toMatchObject({
        code: 'FILE_UNAVAILABLE',
        message: expect.stringContaining('cannot be cloned'),
      });
      for (const hostile of ['--upload-pack=touch /tmp/x', 'ext::sh -c touch% /tmp/x', '-x']) {
        await expect(runtime.sessions.open({ files: { git: hostile } })).rejects.toMatchObject({
          code: 'FILE_UNAVAILABLE',
        });
      }
    });

    describe("in a person's own folder", () => {
      test('[FILE23] calls work there, what the person does counts, and forks are elsewhere', async () => {
        const { agent, machine, turn, found, seen } = await start();
        const own = await newFolder();
        writeFileSync(join(own, 'a.txt'), 'mine');
        const runtime = await machine();
        const session = await runtime.sessions.open({ agent, files: { cwd: own } });
        await turn(runtime, session, write({ 'b.txt': 'by the agent' }));
        expect(seen().folder).toBe(own);
        writeFileSync(join(own, 'a.txt'), 'mine again');
        await turn(runtime, session, write({ 'c.txt': 'x' }));
        expect((await session.commits({ path: '/filesModified/a.txt' })).map(({ actor }) => actor)).toEqual([
          'outside',
        ]);
        const fork = await session.fork({ at: { turn: 1 } });
        await turn(runtime, fork, write({ 'fork.txt': 'x' }));
        expect(seen().folder).not.toBe(own);
        expect(await found(runtime, fork)).toEqual({
          'a.txt': '644 mine',
          'b.txt': '644 by the agent',
          'fork.txt': '644 x',
        });
        expect(contentOf(own)).toMatchObject({ 'a.txt': '644 mine again', 'c.txt': '644 x' });
        expect(existsSync(join(own, 'fork.txt'))).toBe(false);
      });

      test('[FILE23] a rewind leaves the folder alone', async () => {
        const { agent, machine, turn, found, seen } = await start();
        const own = await newFolder();
        const runtime = await machine();
        const session = await runtime.sessions.open({ agent, files: { cwd: own } });
        await turn(runtime, session, write({ 'a.txt': 'one' }));
        await turn(runtime, session, write({ 'a.txt': 'two' }));
        await session.rewind({ to: { turn: 1 } });
        expect(await found(runtime, session)).toEqual({ 'a.txt': '644 two' });
        expect(seen().folder).toBe(own);
      });

      test('[FILE29] another machine, even one of the same name, has the files in a folder of its own', async () => {
        const { agent, machine, turn, found, seen } = await start();
        const [own, data] = [await newFolder(), await newFolder()];
        const [here, there] = [await machine(data), await machine()];
        const session = await here.sessions.open({ agent, files: { cwd: own } });
        await turn(here, session, write({ 'a.txt': 'one' }));
        writeFileSync(join(own, 'mine.txt'), 'not told yet');
        expect(await found(there, await there.sessions.get(session.id))).toEqual({ 'a.txt': '644 one' });
        expect(seen().folder).not.toBe(own);
        const again = await machine(data);
        await found(again, await again.sessions.get(session.id));
        expect(seen().folder).toBe(own);
      });

      test('[FILE23] one session at a time: another is refused there and below, until the first is closed', async () => {
        const { agent, machine, turn } = await start();
        const own = await newFolder();
        mkdirSync(join(own, 'below'));
        const runtime = await machine();
        const session = await runtime.sessions.open({ agent, files: { cwd: own } });
        for (const folder of [own, join(own, 'below')]) {
          await expect(runtime.sessions.open({ agent, files: { cwd: folder } })).rejects.toMatchObject({
            code: 'CONFLICT',
            message: expect.stringContaining(session.id),
          });
        }
        await session.close();
        const next = await runtime.sessions.open({ agent, files: { cwd: own } });
        await turn(runtime, next, write({ 'a.txt': 'x' }));
        await session.reopen();
        const run = await session.send('act');
        await runtime.worker({ session: session.id }).runUntilIdle();
        expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'CONFLICT' } });
      });

      test.each(['closed', 'archived'])(
        '[FILE23] a session that is %s leaves nothing in the folder',
        async (status) => {
          const { agent, machine, turn } = await start();
          const own = await newFolder();
          const bound = join(own, '.perdure', 'bound.json');
          const [runtime, elsewhere] = [await machine(), await machine()];
          const session = await runtime.sessions.open({ agent, files: { cwd: own } });
          await turn(runtime, session, write({ 'a.txt': 'x' }));
          if (status === 'closed') await session.close();
          else {
            await (await elsewhere.sessions.get(session.id)).close();
            expect(existsSync(bound)).toBe(true);
            await session.archive();
          }
          expect(readdirSync(own)).toEqual(['a.txt']);
          await expect(session.files.restore({ turn: 0 })).rejects.toMatchObject({ code: 'ILLEGAL_TRANSITION' });
          expect(readdirSync(own)).toEqual(['a.txt']);
        },
      );

      test('[FILE23] a session that is closed leaves what another has put in the folder meanwhile', async () => {
        const { agent, machine } = await start();
        const own = await newFolder();
        const bound = join(own, '.perdure', 'bound.json');
        const runtime = await machine();
        const session = await runtime.sessions.open({ agent, files: { cwd: own } });
        const theirs = JSON.stringify({ workspace: 'local', session: 'ses_of_another_store' });
        writeFileSync(bound, theirs);
        await session.close();
        expect(readFileSync(bound, 'utf8')).toBe(theirs);
        expect(readdirSync(dirname(bound))).toEqual(['bound.json']);
      });

      test('[FILE23] a folder that is gone is not made anew, and nothing is told as deleted', async () => {
        const { agent, machine, turn, work, found } = await start();
        const own = join(await newFolder(), 'own');
        mkdirSync(own);
        const runtime = await machine();
        const session = await runtime.sessions.open({ agent, files: { cwd: own } });
        await turn(runtime, session, write({ 'a.txt': 'x' }));
        renameSync(own, `${own}-elsewhere`);
        const run = await session.send('look');
        await work(runtime, session);
        expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'FILE_UNAVAILABLE' } });
        expect(existsSync(own)).toBe(false);
        renameSync(`${own}-elsewhere`, own);
        expect(await found(runtime, session)).toEqual({ 'a.txt': '644 x' });
        expect(await eventsOf(session, 'files.snapshotted')).toHaveLength(2);
      });

      test('[FILE23] whoever is opened again works there when all others are closed, and not while one works further up', async () => {
        const { agent, machine, turn, seen } = await start();
        const own = await newFolder();
        const below = join(own, 'below');
        mkdirSync(below);
        const runtime = await machine();
        const session = await runtime.sessions.open({ agent, files: { cwd: below } });
        await session.close();
        const above = await runtime.sessions.open({ agent, files: { cwd: own } });
        await session.reopen();
        const run = await session.send('act');
        await runtime.worker({ session: session.id }).runUntilIdle();
        expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'CONFLICT' } });
        await above.close();
        await turn(runtime, session, write({ 'a.txt': 'x' }));
        await session.close();
        const other = await runtime.sessions.open({ agent, files: { cwd: below } });
        await other.close();
        await session.reopen();
        await turn(runtime, session, write({ 'b.txt': 'x' }));
        expect(seen().folder).toBe(below);
      });

      test('[FILE23] a folder in which another session works further down is refused', async () => {
        const { agent, machine } = await start();
        const own = await newFolder();
        mkdirSync(join(own, 'further', 'down'), { recursive: true });
        const runtime = await machine();
        const session = await runtime.sessions.open({ agent, files: { cwd: join(own, 'further', 'down') } });
        await expect(runtime.sessions.open({ agent, files: { cwd: own } })).rejects.toMatchObject({
          code: 'CONFLICT',
          message: expect.stringContaining(session.id),
        });
        await session.close();
        await runtime.sessions.open({ agent, files: { cwd: own } });
      });

      test("[FILE11] a link in the place of the runtime's own folder is not followed", async () => {
        const { agent, machine } = await start();
        const [own, elsewhere] = [await newFolder(), await newFolder()];
        symlinkSync(elsewhere, join(own, '.perdure'));
        const runtime = await machine();
        await expect(runtime.sessions.open({ agent, files: { cwd: own } })).rejects.toMatchObject({
          code: 'FILE_UNAVAILABLE',
          message: expect.stringContaining('.perdure'),
        });
        expect(readdirSync(elsewhere)).toEqual([]);
      });

      test('[FILE22, FILE23] the root of the file system is refused', async () => {
        const runtime = await (await start()).machine();
        for (const files of [{ cwd: '/' }, { from: '/' }]) {
          await expect(runtime.sessions.open({ files })).rejects.toMatchObject({ code: 'INVALID_INPUT' });
        }
        expect(existsSync('/.perdure/bound.json')).toBe(false);
      });

      test('[FILE23] a folder with the store in it is refused', async () => {
        const folder = await newFolder();
        const runtime = await openRuntime({ store: `sqlite:${join(folder, 'perdure.db')}` });
        undo.push(() => runtime.close());
        for (const files of [{ cwd: folder }, { from: folder }]) {
          await expect(runtime.sessions.open({ files })).rejects.toMatchObject({
            code: 'INVALID_INPUT',
            message: expect.stringContaining('.perdure'),
          });
        }
      });
    });

    test('[FILE19] a restore that broke off is begun again', async () => {
      const { agent, machine, turn, found, seen } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one', 'b.txt': 'one' }));
      const markFile = join(dirname(seen().folder), 'own-mark');
      const [from] = JSON.parse(readFileSync(markFile, 'utf8')).trees;
      await turn(runtime, session, write({ 'a.txt': 'two', 'b.txt': 'two' }));
      writeFileSync(markFile, JSON.stringify({ ...JSON.parse(readFileSync(markFile, 'utf8')), from }));
      writeFileSync(join(seen().folder, 'a.txt'), 'one');
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 two', 'b.txt': '644 two' });
      expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
      expect((await eventsOf(session, 'files.snapshotted')).length).toBe(2);
    });

    test("[FILE19] a restore that broke off in a person's own folder is finished, beside what the person did since", async () => {
      const { agent, machine, turn, found, work } = await start();
      const own = await newFolder();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent, files: { cwd: own } });
      await turn(runtime, session, write({ 'a.txt': 'one', 'b.txt': 'one' }));
      await session.files.write('a.txt', 'from elsewhere');
      await session.files.write('c/d.txt', 'from elsewhere');
      execFileSync('mkfifo', [join(own, 'c')]);
      const run = await session.send('look');
      await work(runtime, session);
      expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'CONFLICT' } });
      rmSync(join(own, 'c'));
      writeFileSync(join(own, 'b.txt'), 'by hand');
      expect(await found(runtime, session)).toEqual({
        'a.txt': '644 from elsewhere',
        'b.txt': '644 by hand',
        'c/d.txt': '644 from elsewhere',
      });
      expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
    });

    test('[FILE20] what somebody did in a worktree after a restore broke off is kept and told', async () => {
      const { agent, machine, turn, found, seen } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one', 'b.txt': 'one' }));
      const markFile = join(dirname(seen().folder), 'own-mark');
      const [from] = JSON.parse(readFileSync(markFile, 'utf8')).trees;
      await turn(runtime, session, write({ 'a.txt': 'two', 'b.txt': 'two' }));
      writeFileSync(markFile, JSON.stringify({ ...JSON.parse(readFileSync(markFile, 'utf8')), from }));
      write({ 'a.txt': 'one', 'mine.txt': 'by hand' })(seen());
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 two', 'b.txt': '644 two' });
      expect((await eventsOf(session, 'files.conflicted')).map(({ payload }) => payload.paths)).toEqual([['mine.txt']]);
    });

    test('[FILE26] where files were brought, the command that prepares them runs once, and how it went is in the log', async () => {
      const { agent, machine, turn, found } = await start({
        prepare: 'cp a.txt node_modules.txt; mkdir -p node_modules; echo made',
      });
      const [here, there] = [await machine(), await machine()];
      const session = await here.sessions.open({ agent });
      await turn(here, session, write({ 'a.txt': 'one' }));
      await turn(here, session, write({ 'a.txt': 'two' }));
      expect(await eventsOf(session, 'files.prepared')).toEqual([]);
      const elsewhere = await there.sessions.get(session.id);
      expect(await found(there, elsewhere)).toEqual({ 'a.txt': '644 two', 'node_modules.txt': '644 two' });
      expect(await found(there, elsewhere)).toMatchObject({ 'node_modules.txt': '644 two' });
      const prepared = await eventsOf(session, 'files.prepared');
      expect(prepared.map(({ payload }) => [payload.exitCode, payload.output])).toEqual([[0, 'made\n']]);
      expect((await session.state()).filesModified['node_modules.txt']).toMatchObject({ tool: 'shell' });
    });

    test('[FILE26] what it had changed when it was broken off is told as its own too', async () => {
      const { agent, machine, turn, found } = await start({
        prepare: 'test -e half.txt || { echo half > half.txt; sleep 60; }',
      });
      const [here, data] = [await machine(), await newFolder()];
      const session = await here.sessions.open({ agent });
      await turn(here, session, write({ 'a.txt': 'one' }));
      const there = await machine(data);
      const elsewhere = await there.sessions.get(session.id);
      const run = await elsewhere.send('look');
      const worker = there.worker({ pollMs: 50 });
      await worker.start();
      await expect
        .poll(() => existsSync(join(data, 'worktrees', 'local', session.id, 'files', 'half.txt')), { timeout: 10_000 })
        .toBe(true);
      await run.cancel();
      await worker.stop();
      await session.files.write('b.txt', 'from elsewhere');
      expect(await found(there, elsewhere)).toEqual({
        'a.txt': '644 one',
        'b.txt': '644 from elsewhere',
        'half.txt': '644 half\n',
      });
      expect((await session.state()).filesModified['half.txt']).toMatchObject({ tool: 'shell' });
    });

    test('[FILE26] a command that fails is told, and the run goes on', async () => {
      const { agent, machine, found } = await start({ prepare: 'echo no luck; exit 3' });
      const source = await newFolder();
      writeFileSync(join(source, 'a.txt'), 'mine');
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent, files: { from: source } });
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 mine' });
      expect((await eventsOf(session, 'files.prepared'))[0]!.payload).toMatchObject({
        exitCode: 3,
        output: 'no luck\n',
      });
    });

    test('[FILE27] what somebody writes during a call is joined with what the call wrote, and is there for the next', async () => {
      const { agent, machine, turn, found } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one', 'b.txt': 'one' }));
      await turn(runtime, session, async (context) => {
        await session.files.write('b.txt', 'by a person');
        await session.files.write('new.txt', 'by a person');
        write({ 'a.txt': 'by the call' })(context);
      });
      expect(await found(runtime, session)).toEqual({
        'a.txt': '644 by the call',
        'b.txt': '644 by a person',
        'new.txt': '644 by a person',
      });
      expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
      await session.files.write('later.txt', 'x');
      await session.files.delete('a.txt');
      expect(await found(runtime, session)).toEqual({
        'b.txt': '644 by a person',
        'new.txt': '644 by a person',
        'later.txt': '644 x',
      });
    });

    test('[FILE27] of a file that both wrote the worktree has the newest, and the other is told and kept', async () => {
      const { agent, machine, turn, found } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      let written = 0;
      await turn(runtime, session, async (context) => {
        await session.files.write('a.txt', 'by a person');
        written = (await session.summary()).seq;
        write({ 'a.txt': 'by the call' })(context);
      });
      const [conflict] = await eventsOf(session, 'files.conflicted');
      expect(conflict!.payload).toMatchObject({ paths: ['a.txt'], conflicts: 1 });
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 by the call' });
      const theirs = await session.files.read('a.txt', { at: { seq: written } });
      expect(Buffer.from(theirs).toString()).toBe('by a person');
    });

    test.each(['its own', "a person's"])(
      '[FILE27] a lost call that runs again in %s folder finds what was written from elsewhere since, and what it left',
      async (whose) => {
        const { agent, machine, turn, set, work, seen } = await start();
        const data = await newFolder();
        const first = await machine(data);
        const cwd = whose === 'its own' ? undefined : await newFolder();
        const session = await first.sessions.open({ agent, ...(cwd && { files: { cwd } }) });
        await turn(first, session, write({ 'a.txt': 'one' }));
        const { promise: written, resolve: hasWritten } = Promise.withResolvers<void>();
        set((context) => {
          write({ 'half.txt': 'half' })(context);
          hasWritten();
          return new Promise((_, reject) => {
            context.signal.addEventListener('abort', () => reject(context.signal.reason));
          });
        });
        await session.send('repeat');
        await first.worker().start();
        await written;
        await first.close();
        const second = await machine(data);
        const again = await second.sessions.get(session.id);
        await again.files.write('a.txt', 'from elsewhere');
        let there: unknown;
        set((context) => {
          there = contentOf(context.folder);
          write({ 'whole.txt': 'whole' })(context);
        });
        await work(second, again);
        expect(there).toEqual({ 'a.txt': '644 from elsewhere', 'half.txt': '644 half' });
        expect(contentOf(seen().folder)).toEqual({ ...(there as object), 'whole.txt': '644 whole' });
        const [call] = await again.toolCalls();
        expect(call).toMatchObject({ tool: 'repeat', status: 'ok' });
        const by = { change: 'created', tool: 'repeat', callId: call!.callId };
        expect((await again.state()).filesModified).toMatchObject({ 'half.txt': by, 'whole.txt': by });
        expect(await eventsOf(again, 'files.conflicted')).toEqual([]);
        expect(await again.verify()).toMatchObject({ ok: true });
      },
    );

    test("[FILE27] in a person's own folder, what was written from elsewhere is put beside what the person did", async () => {
      const { agent, machine, turn, found } = await start();
      const own = await newFolder();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent, files: { cwd: own } });
      await turn(runtime, session, write({ 'a.txt': 'one', 'b.txt': 'one' }));
      await session.files.write('a.txt', 'from elsewhere');
      await session.files.write('c.txt', 'from elsewhere');
      writeFileSync(join(own, 'b.txt'), 'by hand');
      writeFileSync(join(own, 'c.txt'), 'by hand');
      expect(await found(runtime, session)).toEqual({
        'a.txt': '644 from elsewhere',
        'b.txt': '644 by hand',
        'c.txt': '644 by hand',
      });
      expect((await eventsOf(session, 'files.conflicted')).map(({ payload }) => payload.paths)).toEqual([['c.txt']]);
    });

    test('[SUB5] a subagent begins with the files of its parent, and what it made of them comes back', async () => {
      const place = await newStorePlace(kind);
      undo.push(place.remove);
      const helper = defineAgent({
        name: 'helper',
        version: 1,
        model: 'scripted/helper',
        tools: [readTool, writeTool],
      });
      const boss = defineAgent({
        name: 'boss',
        version: 1,
        model: 'scripted/boss',
        tools: [writeTool, subagent(helper), readTool],
      });
      const call = (tool: string, input: Json) => ({ calls: [{ tool, input }] });
      const scripts = [
        defineScript({
          name: 'helper',
          steps: [
            call('read', { path: 'a.txt' }),
            call('write', { path: 'b.txt', content: 'by the helper' }),
            { text: 'Done.' },
          ],
        }),
        defineScript({
          name: 'boss',
          steps: [
            call('write', { path: 'a.txt', content: 'by the boss' }),
            call('helper', { task: 'Write b' }),
            call('read', { path: 'b.txt' }),
            { text: 'Thanks.' },
          ],
        }),
      ];
      const runtime = await openRuntime({
        store: place.address,
        agents: [boss, helper],
        models: { scripts },
        data: await newFolder(),
      });
      undo.push(() => runtime.close());
      const session = await runtime.sessions.open({ agent: boss });
      const run = await session.send('Go');
      await runtime.worker({ pollMs: 50 }).runUntilIdle();
      expect(await run.result()).toMatchObject({ status: 'succeeded' });
      const calls = await session.toolCalls();
      expect(calls.map(({ tool, status }) => [tool, status])).toEqual([
        ['read', 'ok'],
        ['helper', 'ok'],
        ['write', 'ok'],
      ]);
      expect((await session.state()).filesModified['b.txt']).toEqual({
        change: 'created',
        tool: 'helper',
        callId: calls[1]!.callId,
      });
    });

    test("[FILE28] a restore changes a person's folder at once, and what the person did is in the log before", async () => {
      const { agent, machine, turn } = await start();
      const own = await newFolder();
      writeFileSync(join(own, 'a.txt'), 'zero');
      mkdirSync(join(own, 'node_modules'));
      writeFileSync(join(own, 'node_modules', 'x'), 'ignored');
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent, files: { cwd: own } });
      await turn(runtime, session, write({ 'a.txt': 'one', 'b.txt': 'one' }));
      await turn(runtime, session, write({ 'a.txt': 'two' }));
      writeFileSync(join(own, 'a.txt'), 'by hand');
      await session.files.restore({ turn: 1 });
      expect(contentOf(own)).toEqual({ 'a.txt': '644 one', 'b.txt': '644 one', 'node_modules/x': '644 ignored' });
      const [outside] = (await session.commits({ path: '/filesModified/a.txt' })).filter(
        ({ actor }) => actor === 'outside',
      );
      const before = await session.files.read('a.txt', { at: { seq: outside!.seq } });
      expect(Buffer.from(before).toString()).toBe('by hand');
      await turn(runtime, session, write({ 'c.txt': 'x' }));
      expect(contentOf(own)).toMatchObject({ 'a.txt': '644 one', 'c.txt': '644 x' });
      expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
    });

    test("[FILE28] a restore during a run in a person's folder waits for nobody, and the next call finds it", async () => {
      const { agent, machine, turn, found } = await start();
      const own = await newFolder();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent, files: { cwd: own } });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await turn(runtime, session, write({ 'a.txt': 'two' }));
      let during: unknown;
      await turn(runtime, session, async () => {
        await session.files.restore({ turn: 1 });
        during = contentOf(own);
      });
      expect(during).toEqual({ 'a.txt': '644 two' });
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 one' });
    });

    test("[FILE28] a run that begins while a person's folder is being restored waits for that, and so does a restore for it", async () => {
      const { agent, machine, turn, work, set } = await start();
      const [own, data] = [await newFolder(), await newFolder()];
      const runtime = await machine(data);
      const session = await runtime.sessions.open({ agent, files: { cwd: own } });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await turn(runtime, session, write({ 'a.txt': 'two' }));
      const place = { lockFile: join(data, 'worktrees', 'local', session.id, 'lock') };
      const somethingElse = async () => {
        const other = await runtime.sessions.open({ agent });
        const run = await other.send('look');
        await work(runtime, other);
        await run.result();
      };

      const restoring = (await tryLock(place))!;
      set(write({ 'a.txt': 'by the run' }));
      const run = await session.send('act');
      const working = work(runtime, session);
      for await (const { type } of run.events()) if (type === 'tool.called') break;
      await somethingElse();
      expect(contentOf(own)).toEqual({ 'a.txt': '644 two' });
      restoring[Symbol.dispose]();
      await working;
      expect(await run.result()).toMatchObject({ status: 'succeeded' });
      expect(contentOf(own)).toEqual({ 'a.txt': '644 by the run' });

      const running = (await tryLock(place))!;
      const restored = session.files.restore({ turn: 1 });
      await somethingElse();
      expect(contentOf(own)).toEqual({ 'a.txt': '644 by the run' });
      running[Symbol.dispose]();
      await restored;
      expect(contentOf(own)).toEqual({ 'a.txt': '644 one' });
    });

    test('[FILE11] a link in the place of the worktree is not followed', async () => {
      const { agent, machine, turn, work, seen } = await start();
      const elsewhere = await newFolder();
      writeFileSync(join(elsewhere, 'precious.txt'), 'mine');
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await turn(runtime, session, write({ 'a.txt': 'two' }));
      rmSync(seen().folder, { recursive: true });
      symlinkSync(elsewhere, seen().folder);
      await session.rewind({ to: { turn: 1 } });
      const run = await session.send('look');
      await work(runtime, session);
      expect(await run.result()).toMatchObject({ status: 'failed', error: { code: 'FILE_UNAVAILABLE' } });
      expect(contentOf(elsewhere)).toEqual({ 'precious.txt': '644 mine' });
      await expect(session.files.read('precious.txt')).rejects.toMatchObject({ code: 'FILE_NOT_FOUND' });
    });

    test('[FILE19] a rewind counts also where the worker died between the outcome of a call and its note of it', async () => {
      const { agent, machine, turn, found, seen } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      const markFile = join(dirname(seen().folder), 'own-mark');
      const before = JSON.parse(readFileSync(markFile, 'utf8'));
      await turn(runtime, session, write({ 'a.txt': 'two' }));
      const after = JSON.parse(readFileSync(markFile, 'utf8'));
      writeFileSync(markFile, JSON.stringify({ ...after, trees: [...before.trees, ...after.trees] }));
      await session.rewind({ to: { turn: 1 } });
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 one' });
    });

    test('[FILE19] a rewind counts also where a call was cancelled that had written', async () => {
      const { agent, machine, turn, found, cancelAfter } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await cancelAfter(runtime, session, write({ 'a.txt': 'half' }));
      await session.rewind({ to: { turn: 1 } });
      expect(await found(runtime, session)).toEqual({ 'a.txt': '644 one' });
      expect((await eventsOf(session, 'files.conflicted')).map(({ payload }) => payload.paths)).toEqual([['a.txt']]);
    });

    test("[FILE8] what no snapshot holds and is in the way of a session's own files is moved beside its worktree", async () => {
      const { agent, machine, turn, found, seen } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'logs/run.log': 'small', 'b.txt': 'one' }));
      await turn(runtime, session, ({ folder }) => {
        execFileSync('truncate', ['-s', '40M', join(folder, 'logs/run.log')]);
      });
      await session.rewind({ to: { turn: 1 } });
      expect(await found(runtime, session)).toEqual({ 'logs/run.log': '644 small', 'b.txt': '644 one' });
      const aside = join(dirname(seen().folder), 'aside');
      expect(lstatSync(join(aside, ...readdirSync(aside), 'logs/run.log')).size).toBe(40 * 1024 * 1024);
    });

    test('[FILE8] an ignored file is not lost to a restore of a point that has one of its name', async () => {
      const { agent, machine, turn, found, seen, work } = await start();
      const runtime = await machine();
      for (const cwd of [undefined, await newFolder()]) {
        const session = await runtime.sessions.open({ agent, ...(cwd && { files: { cwd } }) });
        await turn(runtime, session, write({ '.env': 'one' }));
        await turn(runtime, session, write({ '.env': 'two', '.perdureignore': '.env' }));
        const restored = session.files.restore({ turn: 1 });
        const { folder } = seen();
        if (cwd) {
          await expect(restored).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('.env') });
          expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe('two');
          rmSync(join(cwd, '.env'));
        } else {
          await restored;
          await session.send('look');
          await work(runtime, session);
          const aside = join(dirname(folder), 'aside');
          expect(readFileSync(join(aside, ...readdirSync(aside), '.env'), 'utf8')).toBe('two');
        }
        expect(await found(runtime, session)).toEqual({ '.env': '644 one' });
      }
    });

    test.each(['a link', 'a file'])(
      "[FILE8] %s in the place of the runtime's own folder does not keep the files of a point away",
      async (what) => {
        const { agent, machine, turn, found, seen } = await start();
        const runtime = await machine();
        const session = await runtime.sessions.open({ agent });
        await turn(runtime, session, write({ 'a.txt': 'one' }));
        const elsewhere = await newFolder();
        await turn(runtime, session, ({ folder }) => {
          writeFileSync(join(folder, 'a.txt'), 'two');
          if (what === 'a link') symlinkSync(elsewhere, join(folder, '.perdure'));
          else writeFileSync(join(folder, '.perdure'), 'mine');
        });
        await session.rewind({ to: { turn: 1 } });
        expect(await found(runtime, session)).toEqual({ 'a.txt': '644 one' });
        expect(readdirSync(elsewhere)).toEqual([]);
        const aside = join(dirname(seen().folder), 'aside');
        expect(lstatSync(join(aside, ...readdirSync(aside), '.perdure')).isSymbolicLink()).toBe(what === 'a link');
      },
    );

    test.skipIf(process.getuid?.() === 0)('[FILE8] so is what nobody may read (root may read all)', async () => {
      const { agent, machine, turn, found } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'closed/a.txt': 'one', 'fixed/b.txt': 'one' }));
      await turn(runtime, session, ({ folder }) => {
        chmodSync(join(folder, 'closed'), 0);
        chmodSync(join(folder, 'fixed/b.txt'), 0);
        chmodSync(join(folder, 'fixed'), 0o555);
      });
      await session.rewind({ to: { turn: 1 } });
      expect(await found(runtime, session)).toEqual({ 'closed/a.txt': '644 one', 'fixed/b.txt': '644 one' });
    });

    test('[FILE25] what a call keeps for people is in the log with its outcome, and no rewind drops it', async () => {
      const { agent, machine, turn } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, ({ keepArtifact }) => keepArtifact('report.md', '# One'));
      await turn(runtime, session, ({ keepArtifact }) =>
        keepArtifact('report.md', '# Two', { mediaType: 'text/x-notes' }),
      );
      const kept = await eventsOf(session, 'artifact.kept');
      expect(kept.map(({ payload, actor }) => [actor, payload.name, payload.mediaType, payload.size])).toEqual([
        ['tool:act', 'report.md', 'text/markdown', 5],
        ['tool:act', 'report.md', 'text/x-notes', 5],
      ]);
      await turn(runtime, session, async ({ keepArtifact }) => {
        await expect(keepArtifact('../up', 'x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
        await expect(keepArtifact('big', new Uint8Array(33 * 1024 * 1024))).rejects.toMatchObject({
          code: 'PAYLOAD_TOO_LARGE',
        });
      });
      expect(await eventsOf(session, 'artifact.kept')).toHaveLength(2);
    });

    test.each(['own', 'bound'])(
      '[FILE20] what was seen in an %s worktree and not told before a crash is not lost to a write from elsewhere',
      async (where) => {
        const { agent, machine, turn, found, seen } = await start();
        const data = await newFolder();
        const runtime = await machine(data);
        const own = await newFolder();
        const session = await runtime.sessions.open({ agent, ...(where === 'bound' && { files: { cwd: own } }) });
        await turn(runtime, session, write({ 'a.txt': 'one' }));
        writeFileSync(join(seen().folder, 'mine.txt'), 'by hand');
        const twin = await runtime.sessions.open({ files: { from: seen().folder } });
        const [{ payload }] = (await eventsOf(twin, 'files.snapshotted')) as [SessionEvent<'files.snapshotted'>];
        const mark = join(data, 'worktrees', 'local', session.id, `${where}-mark`);
        const { trees, ...rest } = JSON.parse(readFileSync(mark, 'utf8'));
        writeFileSync(mark, JSON.stringify({ ...rest, trees: [...trees, payload.tree] }));
        await session.files.write('b.txt', 'from elsewhere');
        const both = { 'a.txt': '644 one', 'b.txt': '644 from elsewhere' };
        if (where === 'bound') expect(await found(runtime, session)).toEqual({ ...both, 'mine.txt': '644 by hand' });
        else {
          expect(await found(runtime, session)).toEqual(both);
          const [kept] = await eventsOf(session, 'files.conflicted');
          expect(kept!.payload).toMatchObject({ tree: payload.tree, paths: expect.arrayContaining(['mine.txt']) });
        }
      },
    );

    test('[FILE24] a folder that cannot be looked at does not take the outcome of the call away', async () => {
      const { agent, machine, turn, found, seen } = await start();
      const runtime = await machine();
      const session = await runtime.sessions.open({ agent });
      await turn(runtime, session, write({ 'a.txt': 'one' }));
      await turn(runtime, session, ({ folder }) => {
        rmSync(folder, { recursive: true });
        writeFileSync(folder, 'a file in its place');
      });
      expect((await session.toolCalls())[0]).toMatchObject({ status: 'ok' });
      const told = (await session.transcript()).findLast(({ message }) => message.role === 'tool')!.message.content;
      expect(JSON.stringify(told)).toContain('not recorded yet');
      rmSync(seen().folder);
      mkdirSync(seen().folder);
      await found(runtime, session);
      expect((await session.state()).filesModified['a.txt']).toMatchObject({ change: 'deleted' });
    });
  });
