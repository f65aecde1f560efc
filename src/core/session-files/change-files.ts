import { z } from 'zod';
import type { SessionEvent } from '../../schema/event.ts';
import { CallersKey } from '../../schema/idempotency-key.ts';
import { Text } from '../../schema/json.ts';
import type { ChangedFile } from '../../schema/state.ts';
import { execute } from '../engine/execute.ts';
import type { AgentAccess, FilesAccess, WriteAccess } from '../engine/scope.ts';
import { type ReadTree, treeReader } from '../files/read-tree.ts';
import { treeOf } from '../files/tree.ts';
import type { BlobHash, NewBlob } from '../ports/blobs.ts';
import type { SessionKey } from '../ports/store.ts';
import type { FilesCommand, NewFiles } from '../session/decide-files.ts';
import type { SessionFold } from '../session/fold.ts';

export const ChangeOptions = z.strictObject({
  why: Text.max(2000).optional(),
  idempotencyKey: CallersKey.optional(),
});

/** The new files that a caller requests. */
export interface FilesEdit {
  readonly root: BlobHash;
  /** Blobs that may not be in the store yet. */
  readonly blobs: readonly NewBlob[];
  readonly changes: readonly ChangedFile[];
}

interface About extends z.infer<typeof ChangeOptions> {
  readonly origin?: NewFiles['origin'];
  readonly contributors?: NewFiles['contributors'];
  readonly restores?: FilesCommand['restores'];
  /** The body of the request, for the idempotency key. */
  readonly body: unknown;
}

/** The seq of the snapshot. Undefined if nothing changed. */
const snapshotSeq = (events: readonly SessionEvent[]): number | undefined =>
  events.find(({ type }) => type === 'files.snapshotted')?.seq;

/** Changes the files of a session. Calls `edit` again if the files have changed meanwhile. */
export const changeFiles = async (
  scope: WriteAccess & FilesAccess & AgentAccess,
  key: SessionKey,
  { why, origin, contributors, restores, idempotencyKey, body }: About,
  edit: (read: ReadTree, root: BlobHash, fold: SessionFold) => Promise<FilesEdit | undefined>,
): Promise<number | undefined> => {
  const command = async (fold: SessionFold): Promise<FilesCommand | undefined> => {
    const root = treeOf(fold);
    const edited = await edit(treeReader(scope.blobs), root, fold);
    if (!edited || edited.root === root) return undefined;
    await scope.blobs.putBlobs(edited.blobs);
    const leftOut = fold.files?.leftOut ?? {};
    const files = { tree: edited.root, changes: edited.changes, leftOut, origin, contributors };
    return { type: 'files', files, why, restores, agents: scope.agents };
  };
  return snapshotSeq(await execute(scope, key, command, { idempotencyKey, body }));
};
