import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RuntimeStore } from '../../src/core/ports/runtime-store.ts';
import { openRuntime, type Runtime } from '../../src/index.ts';
import { type SessionId, WorkspaceId } from '../../src/schema/ids.ts';
import { callCli } from '../support/cli/call-cli.ts';
import { contentOf, filesOf, keepArtifact, putFiles, snapshotFiles } from '../support/files/named-files.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, type StorePlace, storeKinds } from '../support/stores/stores.ts';

const one = filesOf({ 'src/a.ts': 'one', 'src/deep/b.ts': 'b', 'README.md': 'same' });
const two = filesOf({ 'src/a.ts': 'two', 'README.md': 'same' });
const artifact = contentOf('an artifact');
const loose = filesOf({ 'gone/x': 'nobody names it', y: 'nor this' });

describe.each(storeKinds)('files that sessions name, on %s', (kind) => {
  let place: StorePlace;
  let store: RuntimeStore;
  let runtime: Runtime;
  let number = 0;
  beforeAll(async () => {
    place = await newStorePlace(kind);
    store = await openStoreAt(place.address);
    runtime = await openRuntime({ store });
  });
  afterAll(async () => {
    await runtime.close();
    await place.remove();
  });

  const age = () =>
    place.edit((_, prefix) =>
      kind === 'sqlite'
        ? `update ${prefix}blobs set put_at = put_at - 2 * 86400000`
        : `update ${prefix}blobs set put_at = put_at - interval '2 days'`,
    );
  const drop = (hash: string) =>
    place.edit((_, prefix) =>
      kind === 'sqlite'
        ? `delete from ${prefix}blobs where hash = unhex('${hash}')`
        : `delete from ${prefix}blobs where hash = '\\x${hash}'`,
    );

  /** Makes two sessions in a new workspace; the second also has an artifact. */
  const begin = async () => {
    const workspace = WorkspaceId.parse(`files-${++number}`);
    await runtime.workspaces.add(workspace);
    const mine = runtime.as({ workspace, member: 'ann', role: 'admin' });
    const sessions = [await mine.sessions.open(), await mine.sessions.open()] as const;
    const keyOf = (id: SessionId) => ({ workspace, session: id });
    await putFiles(store, workspace, [...one, ...two, ...loose, artifact]);
    await snapshotFiles(store, keyOf(sessions[0].id), one);
    await snapshotFiles(store, keyOf(sessions[1].id), two);
    await keepArtifact(store, keyOf(sessions[1].id), 'notes', artifact);
    return { workspace, mine, sessions };
  };
  const count = (blobs: readonly { readonly bytes: Uint8Array }[]) => ({
    blobs: blobs.length,
    bytes: blobs.reduce((sum, { bytes }) => sum + bytes.length, 0),
  });
  const none = { blobs: 0, bytes: 0 };
  const named = new Set([...one, ...two, artifact].map(({ hash }) => hash)).size;

  test('[GC2, GC3, CLI1] gc reports what would be removed and why, and removes exactly those blobs once the grace has passed', async () => {
    const { workspace, sessions } = await begin();
    const call = async (...args: string[]) => {
      const { code, out, err } = await callCli(['gc', ...args, '--store', place.address, '--workspace', workspace], {
        columns: Number.POSITIVE_INFINITY,
      });
      // A collection that takes more than a second prints its progress.
      expect({ code, err }).toEqual({ code: 0, err: expect.not.stringContaining('error') });
      return out;
    };
    const young = { named, young: count(loose), garbage: none, removed: none, worktrees: [] };
    expect(JSON.parse(await call('--json'))).toEqual({ dryRun: false, ...young });
    await age();
    const garbage = count(loose);
    const expected = { named, young: none, garbage, worktrees: [] };
    expect(JSON.parse(await call('--dry-run', '--json'))).toEqual({ dryRun: true, ...expected, removed: none });
    expect(JSON.parse(await call('--grace', '3d', '--json'))).toMatchObject({ garbage: none });
    expect(await call('--dry-run')).toBe(
      [
        `would go     4 blobs, ${garbage.bytes} bytes: no session refers to them, and nobody used them for 24h`,
        `kept         ${named} blobs that sessions refer to`,
        'kept         0 blobs, 0 bytes: no session refers to them yet, and somebody used them within 24h',
        '',
      ].join('\n'),
    );
    expect(await call()).toContain(`removed      4 blobs, ${garbage.bytes} bytes: `);
    for (const session of sessions) expect(await session.verify()).toMatchObject({ ok: true });
    for (const { hash } of loose) expect(await store.readBlob(workspace, hash)).toBeUndefined();
  });

  test('[GC3, CLI1] an invalid grace is a usage error', async () => {
    const { code, err } = await callCli(['gc', '--grace', 'soon', '--store', place.address]);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('--grace') });
  });

  test('[GC4, VER1, FAULT2] with a missing blob gc removes nothing, verify names it, and other sessions stay usable', async () => {
    const { workspace, mine, sessions } = await begin();
    await age();
    const { hash } = contentOf('b');
    await drop(hash);
    const { code, err } = await callCli(['gc', '--store', place.address, '--workspace', workspace]);
    expect({ code, err }).toEqual({ code: 1, err: expect.stringContaining(`event 2 of ${sessions[0].id}`) });
    await expect(mine.gc()).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    for (const each of loose) expect(await store.readBlob(workspace, each.hash)).toBeDefined();
    expect(await sessions[0].verify()).toEqual({
      ok: false,
      events: 1,
      bad: { seq: 2, reason: expect.stringContaining('"src/deep/b.ts"'), path: 'src/deep/b.ts', blob: hash },
    });
    expect(await sessions[0].verify({ quick: true })).toMatchObject({ ok: true });
    expect(await sessions[1].verify()).toMatchObject({ ok: true, events: 3 });
    const verify = ['verify', '--all', '--store', place.address, '--workspace', workspace];
    expect(await callCli(verify)).toMatchObject({ code: 1, out: expect.stringContaining('2 sessions, 1 bad') });
    expect(await callCli([...verify, '--quick'])).toMatchObject({ code: 0 });
    await putFiles(store, workspace, one);
    expect(await sessions[0].verify()).toMatchObject({ ok: true });
    expect(await mine.gc()).toMatchObject({ named });
  });
});
