import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineAgent, defineScript, openRuntime } from '../../src/index.ts';
import type { Json } from '../../src/schema/json.ts';
import { readTool, subagent, writeTool } from '../../src/tools/index.ts';
import { eventsOf, newFolder, newPlace, startRunFiles, write } from '../support/files/start-run-files.ts';
import { storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('initial files of a session, on %s', (kind) => {
  test('[FILE22] a session begins with a copy of a folder and never touches the original', async () => {
    const source = await newFolder();
    writeFileSync(join(source, 'a.txt'), 'mine');
    mkdirSync(join(source, 'node_modules'));
    const { runtime, session, turn, elsewhere } = await startRunFiles(kind, { files: { from: source } });
    const [event] = await eventsOf(session, 'files.snapshotted');
    expect(event!.payload).toMatchObject({
      origin: { kind: 'folder', path: source },
      leftOut: { ignored: { count: 1 } },
    });
    expect((await session.state()).filesModified).toEqual({});
    expect(await (await elsewhere()).found()).toEqual({ 'a.txt': '644 mine' });
    await turn(write({ 'a.txt': 'changed' }));
    expect(readFileSync(join(source, 'a.txt'), 'utf8')).toBe('mine');
    await expect(runtime.sessions.open({ files: { from: join(source, 'nothing') } })).rejects.toMatchObject({
      code: 'FILE_NOT_FOUND',
    });
  });

  test('[FILE22] a session begins with a real clone at a branch, with its history on any machine', async () => {
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
    const { runtime, session, seen, elsewhere } = await startRunFiles(kind, {
      files: { git: source, ref: 'other' },
    });
    const [event] = await eventsOf(session, 'files.snapshotted');
    expect(event!.payload.origin).toEqual({
      kind: 'git',
      repository: source,
      commit: git('rev-parse', 'other').trim(),
    });
    await (await elsewhere()).turn(({ folder }) => {
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

  test('[FILE26] the prepare command runs once in a new worktree, and its outcome is in the log', async () => {
    const { session, turn, elsewhere } = await startRunFiles(kind, {
      prepare: 'cp a.txt node_modules.txt; mkdir -p node_modules; echo made',
    });
    await turn(write({ 'a.txt': 'one' }));
    await turn(write({ 'a.txt': 'two' }));
    expect(await eventsOf(session, 'files.prepared')).toEqual([]);
    const there = await elsewhere();
    expect(await there.found()).toEqual({ 'a.txt': '644 two', 'node_modules.txt': '644 two' });
    expect(await there.found()).toMatchObject({ 'node_modules.txt': '644 two' });
    const prepared = await eventsOf(session, 'files.prepared');
    expect(prepared.map(({ payload }) => [payload.exitCode, payload.output])).toEqual([[0, 'made\n']]);
    expect((await session.state()).filesModified['node_modules.txt']).toMatchObject({ tool: 'shell' });
  });

  test('[FILE26, FILE56] changes of an interrupted prepare command are attributed to that command', async () => {
    const { session, turn, machine, sessionAt } = await startRunFiles(kind, {
      prepare: 'test -e half.txt || { echo half > half.txt; sleep 60; }',
    });
    const data = await newFolder();
    await turn(write({ 'a.txt': 'one' }));
    const there = await sessionAt(await machine(data), session.id);
    const run = await there.session.send('look');
    const worker = there.runtime.worker({ pollMs: 50 });
    await worker.start();
    await expect
      .poll(() => existsSync(join(data, 'worktrees', 'local', session.id, 'files', 'half.txt')), { timeout: 10_000 })
      .toBe(true);
    await run.cancel();
    await worker.stop();
    await session.files.write('b.txt', 'from elsewhere');
    expect(await there.found()).toEqual({
      'a.txt': '644 one',
      'b.txt': '644 from elsewhere',
      'half.txt': '644 half\n',
    });
    expect((await session.state()).filesModified['half.txt']).toMatchObject({ tool: 'shell' });
  });

  test('[FILE26] a failing prepare command is recorded, and the run continues', async () => {
    const source = await newFolder();
    writeFileSync(join(source, 'a.txt'), 'mine');
    const { session, found } = await startRunFiles(kind, { prepare: 'echo no luck; exit 3', files: { from: source } });
    expect(await found()).toEqual({ 'a.txt': '644 mine' });
    expect((await eventsOf(session, 'files.prepared'))[0]!.payload).toMatchObject({
      exitCode: 3,
      output: 'no luck\n',
    });
  });

  test('[SUB5, SUB9] a subagent begins with the files of its parent, and its changes are merged back', async () => {
    const place = await newPlace(kind);
    const call = (tool: string, input: Json) => ({ calls: [{ tool, input }] });
    const helper = defineAgent({
      name: 'helper',
      version: 1,
      model: defineScript({
        name: 'helper',
        steps: [
          call('read', { path: 'a.txt' }),
          call('write', { path: 'b.txt', content: 'by the helper' }),
          { text: 'Done.' },
        ],
      }),
      tools: [readTool, writeTool],
    });
    const boss = defineAgent({
      name: 'boss',
      version: 1,
      model: defineScript({
        name: 'boss',
        steps: [
          call('write', { path: 'a.txt', content: 'by the boss' }),
          call('helper', { task: 'Write b' }),
          call('read', { path: 'b.txt' }),
          { text: 'Thanks.' },
        ],
      }),
      tools: [writeTool, subagent(helper), readTool],
    });
    const runtime = await openRuntime({
      store: place.address,
      agents: [boss, helper],
      worker: false,
      data: await newFolder(),
    });
    onTestFinished(() => runtime.close());
    const session = await runtime.sessions.open({ agent: boss });
    const run = await session.send('Go');
    await runtime.worker({ pollMs: 50 }).runUntilIdle();
    expect(await run.result()).toMatchObject({ status: 'succeeded' });
    const calls = (await session.toolCalls()).calls;
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
});
