import { blobsOf } from '../../../src/core/files/blobs-of.ts';
import { Uploads } from '../../../src/core/files/disk/uploads.ts';
import { hashOf } from '../../../src/core/files/tree.ts';
import type { NewBlob } from '../../../src/core/ports/blobs.ts';
import type { RuntimeStore } from '../../../src/core/ports/runtime-store.ts';
import type { SessionKey } from '../../../src/core/ports/store.ts';
import { encodeEvent } from '../../../src/core/session/events/event-codec.ts';
import type { EventDraft } from '../../../src/schema/event.ts';
import { systemActor, type WorkspaceId } from '../../../src/schema/ids.ts';
import { buildTrees } from './build-trees.ts';

export const contentOf = (text: string): NewBlob => {
  const bytes = Buffer.from(text);
  return { hash: hashOf(bytes), bytes };
};

/** The blobs of a worktree; its root tree is the last one. */
export const filesOf = (files: Readonly<Record<string, string>>): readonly NewBlob[] => {
  const paths = Object.entries(files).map(([path, text]) => {
    const { hash, bytes } = contentOf(text);
    return { path, entry: { kind: 'file', mode: 0o644, size: bytes.length, hash } as const };
  });
  return [...Object.values(files).map(contentOf), ...buildTrees(paths).trees];
};

/** Uploads blobs the way a snapshot does. */
export const putFiles = async (
  store: RuntimeStore,
  workspace: WorkspaceId,
  blobs: readonly NewBlob[],
): Promise<void> => {
  const uploads = new Uploads(blobsOf(store, workspace));
  for (const blob of blobs) await uploads.add(blob);
  await uploads.finish();
};

const write = async (
  store: RuntimeStore,
  key: SessionKey,
  draft: Pick<EventDraft, 'type' | 'payload'>,
): Promise<void> => {
  const events = [encodeEvent({ ...draft, actor: systemActor, turn: 0 } as EventDraft)] as const;
  const { outcome } = await store.append({ ...key, writer: { kind: 'outside' }, at: 1, events });
  if (outcome !== 'appended') throw new Error(`the append failed: ${outcome}`);
};

/** Appends a snapshot whose tree is the last blob. */
export const snapshotFiles = (store: RuntimeStore, key: SessionKey, blobs: readonly NewBlob[]): Promise<void> =>
  write(store, key, {
    type: 'files.snapshotted',
    payload: {
      tree: blobs.at(-1)!.hash,
      changed: { created: 1, modified: 0, deleted: 0, renamed: 0 },
      leftOut: {},
    },
  });

export const keepArtifact = (
  store: RuntimeStore,
  key: SessionKey,
  name: string,
  { hash, bytes }: NewBlob,
): Promise<void> =>
  write(store, key, {
    type: 'artifact.kept',
    payload: { name, mediaType: 'text/plain', size: bytes.length, blob: hash },
  });
