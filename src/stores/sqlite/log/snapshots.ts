import type { DatabaseSync } from 'node:sqlite';
import type { FoldSnapshot, SessionKey } from '../../../core/ports/store.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { segmentsOf } from '../../log/lineage.ts';
import { parseManifest, partsIn, writeManifest } from '../../log/snapshot-manifest.ts';
import { eachRow } from '../file/each-row.ts';
import { lazyStatement } from '../file/lazy-statement.ts';
import type { Blobs } from './blobs.ts';
import type { Sessions } from './sessions.ts';

export interface Snapshots {
  put(key: SessionKey, snapshot: FoldSnapshot): void;
  clear(workspace: WorkspaceId): void;
  newest(key: SessionKey, at: { readonly seq: number; readonly foldVersion: number }): FoldSnapshot | undefined;
}

interface Row {
  readonly seq: number;
  readonly manifest: string;
}

export const openSnapshots = (db: DatabaseSync, sessions: Sessions, blobs: Blobs): Snapshots => {
  const insert = lazyStatement(db, 'INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)');
  const clear = lazyStatement(db, 'DELETE FROM snapshots WHERE workspace = ?');
  const candidates = lazyStatement(
    db,
    `SELECT seq, manifest FROM snapshots
    WHERE workspace = ? AND session = ? AND fold_version = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC`,
  );

  const writeBlob = (workspace: WorkspaceId, bytes: Uint8Array): string =>
    Buffer.from(blobs.writeBytes(workspace, bytes)).toString('hex');
  const readParts = (workspace: WorkspaceId, text: string): FoldSnapshot['parts'] | undefined => {
    const manifest = parseManifest(text);
    return manifest && partsIn(manifest, (hash) => blobs.read(workspace, Buffer.from(hash, 'hex')));
  };

  return {
    put: ({ workspace, session }, { seq, foldVersion, parts }) => {
      const [owner] = segmentsOf(sessions.lineage({ workspace, session }) ?? [], seq);
      if (!owner) return;
      const manifest = writeManifest(parts, (bytes) => writeBlob(workspace, bytes));
      insert().run(workspace, owner.session, foldVersion, seq, manifest);
    },
    clear: (workspace) => void clear().run(workspace),
    newest: (key, { seq: upTo, foldVersion }) => {
      for (const { session, from, to } of segmentsOf(sessions.lineage(key) ?? [], upTo)) {
        const rows = eachRow<Row>(candidates(), key.workspace, session, foldVersion, from, to);
        for (const { seq, manifest } of rows) {
          const parts = readParts(key.workspace, manifest);
          if (parts) return { seq, foldVersion, parts };
        }
      }
      return undefined;
    },
  };
};
