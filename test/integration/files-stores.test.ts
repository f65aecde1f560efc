import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { blobsOf } from '../../src/core/files/blobs-of.ts';
import { Worktrees } from '../../src/core/files/disk/worktrees.ts';
import type { WorkspaceId } from '../../src/schema/ids.ts';
import { newWorktree, removeWorktrees } from '../support/files/worktree-folder.ts';
import { openStoreAt } from '../support/stores/open-store.ts';
import { newStorePlace, storeKinds } from '../support/stores/stores.ts';

const worktrees = new Worktrees();
afterEach(async () => {
  await worktrees.stop();
  removeWorktrees();
});

describe.each(storeKinds)('files on %s', (kind) => {
  test('[FILE1, FILE2, BLOB3] one process restores what another snapshots, but only in the same workspace', async () => {
    const place = await newStorePlace(kind);
    const [mine, theirs] = ['mine', 'theirs'] as WorkspaceId[];
    const from = newWorktree();
    for (let n = 0; n < 300; n++) from.write(`src/${n % 7}/file-${n}.txt`, `${n}\n`.repeat(n));
    from.write('bin/run', Buffer.alloc(700_000, 'x'), 0o755);
    from.link('latest', 'bin/run');
    const writer = await openStoreAt(place.address);
    const cacheFile = join(from.path, '..', 'from.cache');
    const { root } = await worktrees.snapshot({ folder: from.path, cacheFile }, blobsOf(writer, mine!));
    await writer.close();
    const reader = await openStoreAt(place.address);
    const to = newWorktree();
    const other = { folder: to.path, cacheFile: join(to.path, '..', 'to.cache'), root };
    await expect(worktrees.restore(other, blobsOf(reader, theirs!))).rejects.toMatchObject({ code: 'BLOB_NOT_FOUND' });
    await worktrees.restore(other, blobsOf(reader, mine!));
    expect(to.list()).toEqual(from.list());
    await reader.close();
    await place.remove();
  });
});
