import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  eventsOf,
  filesOf,
  newFolder,
  providerKey,
  startRunFiles,
  whoseFolders,
  write,
} from '../support/files/start-run-files.ts';
import { storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('file changes of calls, on %s', (kind) => {
  test('[FILE17] changes of a call are committed with its outcome: created, modified, renamed, deleted, attributed to the call', async () => {
    const { session, turn } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one', 'b/c.txt': 'two', d: 'three' }));
    await turn(({ folder }) => {
      writeFileSync(join(folder, 'a.txt'), 'changed');
      renameSync(join(folder, 'b/c.txt'), join(folder, 'moved.txt'));
      rmSync(join(folder, 'd'));
    });
    const calls = (await session.toolCalls()).calls.map(({ callId }) => callId);
    const [last, first] = (await session.commits({ path: '/filesModified/**' })).commits;
    expect(first).toMatchObject({ turn: 1, cause: { tool: 'act', callId: calls[1] } });
    expect(last).toMatchObject({ turn: 2, cause: { tool: 'act', callId: calls[0] } });
    // Records of changed files are bookkeeping, which has no provenance.
    expect(last).not.toHaveProperty('provenance');
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

  test('[FILE17, FILE46] a call that changes nothing records no change; the changes of a failed call are recorded', async () => {
    const { session, turn, set, resultOf } = await startRunFiles(kind);
    await turn(() => undefined);
    expect(await eventsOf(session, 'files.snapshotted')).toEqual([]);
    set((context) => {
      write({ half: 'done' })(context);
      throw new Error('broken off');
    });
    expect(await resultOf('act')).toMatchObject({ status: 'succeeded' });
    expect((await session.state()).filesModified).toMatchObject({ half: { change: 'created', tool: 'act' } });
    expect((await session.toolCalls()).calls[0]).toMatchObject({ status: 'threw' });
  });

  test('[FILE46] calls of one answer that may write run one at a time, and changes are recorded per call', async () => {
    const { session, set, resultOf } = await startRunFiles(kind);
    let count = 0;
    set((context) => write({ [`${++count}.txt`]: 'x' })(context));
    expect(await resultOf('act thrice')).toMatchObject({ status: 'succeeded' });
    const types = (await Array.fromAsync(session.events())).map(({ type }) => type);
    expect(types.filter((type) => type === 'tool.called' || type === 'tool.completed')).toEqual(
      Array(3).fill(['tool.called', 'tool.completed']).flat(),
    );
    const calls = (await session.toolCalls()).calls.map(({ callId }) => callId).toReversed();
    expect((await session.state()).filesModified).toEqual(
      Object.fromEntries(calls.map((callId, n) => [`${n + 1}.txt`, { change: 'created', tool: 'act', callId }])),
    );
  });

  test('[FILE17] files left out of a snapshot are counted in its event', async () => {
    const { session, turn } = await startRunFiles(kind);
    await turn((context) => {
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

  test('[FILE17] a call that changes only left-out files is recorded by their count', async () => {
    const { session, turn } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one' }));
    await turn(write({ 'node_modules/x': 'x' }));
    const [first, second] = await eventsOf(session, 'files.snapshotted');
    expect(second!.payload.tree).toBe(first!.payload.tree);
    expect(second!.payload.leftOut).toEqual({ ignored: { count: 1, paths: ['node_modules'] } });
  });

  test('[FILE21] files written by a lost call are attributed to that call', async () => {
    const { seen, loseAfter } = await startRunFiles(kind);
    const { session, work } = await loseAfter(write({ 'half.txt': 'half' }));
    await work();
    const [call] = (await session.toolCalls()).calls;
    expect(call).toMatchObject({ tool: 'act', status: 'interrupted' });
    expect((await session.state()).filesModified).toEqual({
      'half.txt': { change: 'created', tool: 'act', callId: call!.callId },
    });
    expect(readFileSync(join(seen().folder, 'half.txt'), 'utf8')).toBe('half');
  });

  test.each(whoseFolders)(
    '[FILE21] files written by a lost call in %s folder are merged with later writes from elsewhere',
    async (whose) => {
      const { turn, loseAfter } = await startRunFiles(kind, { files: await filesOf(whose) });
      await turn(write({ 'a.txt': 'one' }));
      const { session, work, found } = await loseAfter(write({ 'half.txt': 'half' }));
      await session.files.write('a.txt', 'from elsewhere');
      await work();
      const [call] = (await session.toolCalls()).calls;
      expect((await session.state()).filesModified['half.txt']).toEqual({
        change: 'created',
        tool: 'act',
        callId: call!.callId,
      });
      expect(await found()).toEqual({ 'a.txt': '644 from elsewhere', 'half.txt': '644 half' });
      expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
    },
  );

  test('[FILE21] files written by a cancelled call are attributed to it before the next call', async () => {
    const { session, turn, cancelAfter } = await startRunFiles(kind);
    await cancelAfter(write({ 'half.txt': 'half' }));
    const [call] = (await session.toolCalls()).calls;
    await turn(write({ 'next.txt': 'x' }));
    expect((await session.state()).filesModified['half.txt']).toEqual({
      change: 'created',
      tool: 'act',
      callId: call!.callId,
    });
  });

  test('[FILE21] files written by a cancelled call are attributed to it however many calls follow', async () => {
    const { session, cancelAfter, resultOf } = await startRunFiles(kind);
    await cancelAfter(write({ 'half.txt': 'half' }));
    const [call] = (await session.toolCalls()).calls;
    expect(await resultOf('stare')).toMatchObject({ status: 'succeeded' });
    expect((await session.state()).filesModified['half.txt']).toMatchObject({ callId: call!.callId });
  });

  test.each(whoseFolders)(
    '[FILE21] files written by a cancelled call in %s folder are merged with later writes from elsewhere',
    async (whose) => {
      const files = await filesOf(whose);
      const { session, turn, cancelAfter, found, elsewhere } = await startRunFiles(kind, { files });
      await turn(write({ 'a.txt': 'one' }));
      await cancelAfter(write({ 'half.txt': 'half' }));
      const [call] = (await session.toolCalls()).calls;
      await session.files.write('a.txt', 'from elsewhere');
      if (!files) await (await elsewhere()).turn(write({ 'b.txt': 'on another machine' }));
      const all = { 'a.txt': '644 from elsewhere', 'half.txt': '644 half' };
      expect(await found()).toEqual({ ...all, ...(!files && { 'b.txt': '644 on another machine' }) });
      expect((await session.state()).filesModified['half.txt']).toEqual({
        change: 'created',
        tool: 'act',
        callId: call!.callId,
      });
      expect(await eventsOf(session, 'files.conflicted')).toEqual([]);
    },
  );

  test("[FILE21] files written by a cancelled call in a person's folder are attributed to it before a restore", async () => {
    const { session, turn, cancelAfter } = await startRunFiles(kind, { files: { cwd: await newFolder() } });
    await turn(write({ 'a.txt': 'one' }));
    await cancelAfter(write({ 'half.txt': 'half' }));
    const [call] = (await session.toolCalls()).calls;
    await session.files.restore({ turn: 1 });
    const commits = (await session.commits({ path: '/filesModified/half.txt' })).commits;
    expect(commits.map(({ actor, cause }) => [actor, cause?.callId])).toEqual([
      ['member:local', undefined],
      ['tool:act', call!.callId],
    ]);
  });

  test('[FILE24] an unreadable folder does not lose the outcome of the call', async () => {
    const { session, turn, found, seen } = await startRunFiles(kind);
    await turn(write({ 'a.txt': 'one' }));
    await turn(({ folder }) => {
      rmSync(folder, { recursive: true });
      writeFileSync(folder, 'a file in its place');
    });
    expect((await session.toolCalls()).calls[0]).toMatchObject({ status: 'ok' });
    const lastResult = (await session.transcript()).entries.findLast(({ message }) => message.role === 'tool')!.message
      .content;
    expect(JSON.stringify(lastResult)).toContain('not recorded yet');
    rmSync(seen().folder);
    mkdirSync(seen().folder);
    await found();
    expect((await session.state()).filesModified['a.txt']).toMatchObject({ change: 'deleted' });
  });

  test('[FILE25] an artifact kept by a call is in the log with the outcome of the call, and survives a rewind', async () => {
    const { session, turn } = await startRunFiles(kind);
    await turn(({ keepArtifact }) => keepArtifact('report.md', '# One'));
    await turn(({ keepArtifact }) => keepArtifact('report.md', '# Two', { mediaType: 'text/x-notes' }));
    const kept = await eventsOf(session, 'artifact.kept');
    expect(kept.map(({ payload, actor }) => [actor, payload.name, payload.mediaType, payload.size])).toEqual([
      ['tool:act', 'report.md', 'text/markdown', 5],
      ['tool:act', 'report.md', 'text/x-notes', 5],
    ]);
    await turn(async ({ keepArtifact }) => {
      await expect(keepArtifact('../up', 'x')).rejects.toMatchObject({ code: 'INVALID_INPUT' });
      await expect(keepArtifact('big', new Uint8Array(33 * 1024 * 1024))).rejects.toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
      });
    });
    expect(await eventsOf(session, 'artifact.kept')).toHaveLength(2);
  });
});
