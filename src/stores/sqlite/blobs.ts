import type { DatabaseSync } from 'node:sqlite';
import { blobHash } from '../../core/session/chain.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { decodeBlobSync, type EncodedBlob, encodeBlobSync } from '../payload-codec.ts';

export interface Blobs {
  /** The content, or undefined when it is missing or not what its hash says. */
  read(workspace: WorkspaceId, hash: Uint8Array): Uint8Array | undefined;
  /** Puts right what was damaged and leaves alone what is there. */
  write(workspace: WorkspaceId, blob: EncodedBlob): void;
  /** The same, compressing only what is needed. Gives the hash. */
  writeBytes(workspace: WorkspaceId, bytes: Uint8Array): Uint8Array;
}

export const openBlobs = (db: DatabaseSync): Blobs => {
  const select = db.prepare('SELECT encoding, bytes FROM blobs WHERE workspace = ? AND hash = ?');
  const insert = db.prepare(`INSERT INTO blobs (workspace, hash, size, encoding, bytes) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET encoding = excluded.encoding, bytes = excluded.bytes WHERE bytes <> excluded.bytes`);
  const write: Blobs['write'] = (workspace, { hash, size, encoding, stored }) => {
    insert.run(workspace, hash, size, encoding, stored);
  };
  const read: Blobs['read'] = (workspace, hash) => {
    const row = select.get(workspace, hash) as { encoding: number; bytes: Uint8Array } | undefined;
    return row && intactContent(row.encoding, row.bytes, hash);
  };
  return {
    read,
    write,
    writeBytes: (workspace, bytes) => {
      const hash = blobHash(bytes);
      if (!read(workspace, hash)) write(workspace, encodeBlobSync(bytes));
      return hash;
    },
  };
};

const intactContent = (encoding: number, stored: Uint8Array, hash: Uint8Array): Uint8Array | undefined => {
  try {
    const bytes = decodeBlobSync(encoding, stored);
    return blobHash(bytes).equals(hash) ? bytes : undefined;
  } catch {
    return undefined;
  }
};
