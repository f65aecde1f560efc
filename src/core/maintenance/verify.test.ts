import { describe, expect, test } from 'vitest';
import { contentOf, filesOf, keepArtifact, putFiles, snapshotFiles } from '../../../test/support/files/named-files.ts';
import { overrideStore } from '../../../test/support/stores/override-store.ts';
import { openRuntime } from '../../runtime.ts';
import { newId, systemActor, type WorkspaceId } from '../../schema/ids.ts';
import { newMemoryDatabase } from '../../testing/memory-database.ts';
import { openMemoryStore } from '../../testing/memory-store.ts';
import { payloadDigest } from '../session/events/chain.ts';

const workspace = 'local' as WorkspaceId;
const hello = JSON.stringify({
  message: { id: newId('msg'), role: 'user', content: [{ type: 'text', text: 'hello' }] },
});

/** A session whose event 2 has this payload, in a valid chain. */
const withPayload = async (payload: string) => {
  const database = newMemoryDatabase();
  const store = openMemoryStore(database);
  const { sessions } = await openRuntime({ store });
  const session = await sessions.open();
  const event = { type: 'message.appended', version: 1, turn: 'next', actor: systemActor } as const;
  const events = [{ ...event, payload: new TextEncoder().encode(payload) }] as const;
  await store.append({ workspace, session: session.id, writer: { kind: 'outside' }, at: 1, events });
  return { database, session, row: database.workspaces.get(workspace)!.sessions.get(session.id)! };
};

describe('verify', () => {
  test.each(['{}', 'no JSON', '{"message":"\\u0000"}'])(
    '[HASH4] names an event whose payload %s does not fit its type, although the chain is valid',
    async (payload) => {
      const { session } = await withPayload(payload);
      expect(await session.verify()).toMatchObject({ ok: false, events: 1, bad: { seq: 2 } });
    },
  );

  test('[HASH3, HASH6] accepts a redacted payload', async () => {
    const { session, row } = await withPayload('{}');
    const event = row.events.get(2)!;
    if (event.body.kind !== 'bytes') throw new Error('it was redacted before');
    const digest = payloadDigest(event.body.salt, event.body.bytes);
    row.events.set(2, { ...event, body: { kind: 'redacted', digest } });
    expect(await session.verify()).toMatchObject({ ok: true, events: 2 });
  });

  const files = filesOf({ 'a/b': 'content', c: 'more' });
  const tree = (name: string) => files.find(({ bytes }) => bytes.toString().includes(`["${name}"`))!.hash;
  const withFiles = async () => {
    const { session, database } = await withPayload(hello);
    const store = openMemoryStore(database);
    const reads: string[] = [];
    const counted = overrideStore(store, {
      readBlob: (...asked) => {
        reads.push(asked[1]);
        return store.readBlob(...asked);
      },
    });
    const key = { workspace, session: session.id };
    await putFiles(store, workspace, files);
    for (let times = 0; times < 3; times++) await snapshotFiles(store, key, files);
    await keepArtifact(store, key, 'notes', files[0]!);
    const { sessions } = await openRuntime({ store: counted });
    return { session: await sessions.get(session.id), kept: database.workspaces.get(workspace)!.blobs, reads };
  };

  test('[VER1, VER2] reads each tree and each content that events name once, and with `quick` only the trees', async () => {
    const { session, reads } = await withFiles();
    expect(await session.verify()).toMatchObject({ ok: true, events: 6 });
    expect(reads.toSorted()).toEqual(files.map(({ hash }) => hash).toSorted());
    reads.length = 0;
    expect(await session.verify({ quick: true })).toMatchObject({ ok: true });
    expect(reads.toSorted()).toEqual([tree('a'), tree('b')].toSorted());
  });

  test.each([
    ['its tree', () => files.at(-1)!.hash, ''],
    ['a tree below', () => tree('b'), 'a'],
    ['a content', () => files[0]!.hash, 'a/b'],
  ] as const)('[VER1] names the first event with %s missing or not matching its hash', async (_, hash, path) => {
    for (const bytes of [undefined, Buffer.from('other')]) {
      const { session, kept } = await withFiles();
      if (bytes) kept.set(hash(), bytes);
      else kept.delete(hash());
      expect(await session.verify()).toMatchObject({ ok: false, events: 2, bad: { seq: 3, path, blob: hash() } });
    }
  });

  test('[VER1] names a tree with a wrong content size, and one whose names could lead out of the worktree', async () => {
    const content = contentOf('x');
    const row = (name: string, size: number) => `perdure.tree.1\n[["${name}","file",420,"${content.hash}",${size}]]`;
    for (const text of [row('a', 2), row('..', 1)]) {
      const { session, database } = await withPayload(hello);
      const store = openMemoryStore(database);
      const blobs = [content, contentOf(text)];
      await putFiles(store, workspace, blobs);
      await snapshotFiles(store, { workspace, session: session.id }, blobs);
      expect(await session.verify()).toMatchObject({ ok: false, bad: { seq: 3 } });
    }
  });

  test('[HASH4] detects a session that names a wrong parent or a wrong family', async () => {
    const { session, row, database } = await withPayload(hello);
    const child = await session.fork({ at: { seq: 1 } });
    const sibling = await session.fork({ at: { seq: 1 } });
    expect(await child.verify()).toMatchObject({ ok: true, events: 2 });
    const forked = database.workspaces.get(workspace)!.sessions.get(child.id)!;
    const { head } = forked;
    forked.head = { ...head, parent: { session: sibling.id, seq: 1 } };
    expect(await child.verify()).toMatchObject({
      ok: false,
      bad: { seq: 2, reason: expect.stringContaining('parent') },
    });
    forked.head = { ...head, root: sibling.id };
    expect(await child.verify()).toMatchObject({
      ok: false,
      bad: { seq: 2, reason: expect.stringContaining('family') },
    });
    expect(row.head.root).toBe(session.id);
  });
});
