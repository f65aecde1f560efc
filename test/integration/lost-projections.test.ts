import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openRuntime, type Runtime, type Session } from '../../src/index.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

describe.each(storeKinds)('lost projections on %s', (kind) => {
  let place: StorePlace;
  let runtime: Runtime;
  beforeEach(async () => {
    place = await newStorePlace(kind);
    runtime = await openRuntime({ store: place.address });
  });
  afterEach(async () => {
    await runtime.close();
    await place.remove();
  });
  const sessionsOf = (workspace: string) => runtime.as({ workspace, member: 'ann', role: 'admin' }).sessions;
  const work = async (workspace: string) => {
    const session = await sessionsOf(workspace).open();
    await session.append({ role: 'user', content: 'go' });
    await session.commit((draft) => Object.assign(draft.facts, { port: 8080 }));
    const tools = await session.track(
      { edit: async () => 'done' },
      { edit: { files: () => ({ 'a.ts': 'modified' }) } },
    );
    await tools.edit();
    return session;
  };
  const records = async (workspace: string) => ({
    commits: (await sessionsOf(workspace).commits({ path: '/facts/**' })).commits,
    files: (await sessionsOf(workspace).commits({ path: '/filesModified/a.ts' })).commits,
    calls: (await sessionsOf(workspace).toolCalls()).calls,
  });
  const commitHost = async (session: Session) =>
    session.commit((draft) => Object.assign(draft.facts, { host: 'here' }));

  test('[QRY4] deleted rows of commits and calls are rebuilt', async () => {
    await work('one');
    const before = await records('one');
    await place.edit((_, prefix) => `delete from ${prefix}commit_paths; delete from ${prefix}tool_calls`);
    expect(await records('one')).toEqual({ commits: [], files: [], calls: [] });
    await sessionsOf('one').rebuildProjections();
    expect(await records('one')).toEqual(before);
    expect(before).toMatchObject({ commits: { length: 1 }, files: { length: 1 }, calls: { length: 1 } });
  });

  test('[QRY4, QRY10] dropped tables are reported with how to repair them, and are rebuilt', async () => {
    const session = await work('one');
    await work('two');
    const before = { one: await records('one'), two: await records('two') };
    await place.edit(
      (_, prefix) => `drop table ${prefix}commit_paths; drop table ${prefix}tool_calls; drop table ${prefix}charges`,
    );
    const missing = { code: 'STORE_CORRUPT', message: expect.stringContaining('perdure repair --projections') };
    await expect(records('one')).rejects.toMatchObject(missing);
    await expect(sessionsOf('one').toolCalls({ status: 'running' })).rejects.toMatchObject(missing);
    await expect(runtime.as({ workspace: 'one', member: 'local' }).usage()).rejects.toMatchObject(missing);
    await expect(commitHost(session)).rejects.toMatchObject(missing);
    await runtime.close();
    runtime = await openRuntime({ store: place.address });
    const reopened = await sessionsOf('one').get(session.id);
    expect(await sessionsOf('one').rebuildProjections()).toBe((await reopened.summary()).seq);
    if (kind === 'postgres') await sessionsOf('two').rebuildProjections();
    expect({ one: await records('one'), two: await records('two') }).toEqual(before);
    await commitHost(reopened);
    expect((await records('one')).commits).toHaveLength(2);
    expect((await runtime.as({ workspace: 'one', member: 'local' }).usage()).rows).toEqual([]);
  });
});
