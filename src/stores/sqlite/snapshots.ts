import type { DatabaseSync } from 'node:sqlite';
import type { FoldSnapshot, SessionKey } from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import { segmentsOf } from '../lineage.ts';
import type { Blobs } from './blobs.ts';
import { eachRow } from './each-row.ts';
import type { Sessions } from './sessions.ts';

export interface Snapshots {
  put(key: SessionKey, snapshot: FoldSnapshot): void;
  clear(workspace: WorkspaceId): void;
  newest(key: SessionKey, at: { readonly seq: number; readonly foldVersion: number }): FoldSnapshot | undefined;
}

/** Parts of up to this many bytes stand in the manifest itself; the others are blobs, so that a part that stays the same is kept once. */
const inlinePartBytes = 256;

interface Row {
  readonly seq: number;
  readonly manifest: string;
}

/** The bytes in base64, the hash in hex. */
type Manifest = Readonly<Record<string, { readonly inline: string } | { readonly blob: string }>>;

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');
const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, 'base64'));

export const openSnapshots = (db: DatabaseSync, sessions: Sessions, blobs: Blobs): Snapshots => {
  const insert = db.prepare('INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)');
  const clear = db.prepare('DELETE FROM snapshots WHERE workspace = ?');
  const candidates = db.prepare(`SELECT seq, manifest FROM snapshots
    WHERE workspace = ? AND session = ? AND fold_version = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC`);

  const manifestOf = (workspace: WorkspaceId, parts: FoldSnapshot['parts']): Manifest =>
    Object.fromEntries(
      Object.entries(parts).map(([name, bytes]) => [
        name,
        bytes.length <= inlinePartBytes
          ? { inline: base64(bytes) }
          : { blob: Buffer.from(blobs.writeBytes(workspace, bytes)).toString('hex') },
      ]),
    );

  /** undefined when any part is lost: a snapshot is a cache, and an older one does as well. */
  const partsOf = (workspace: WorkspaceId, manifest: string): FoldSnapshot['parts'] | undefined => {
    const parts: [string, Uint8Array][] = [];
    for (const [name, part] of Object.entries(parseManifest(manifest) ?? { '': { blob: '' } })) {
      const bytes = 'inline' in part ? bytesOf(part.inline) : blobs.read(workspace, Buffer.from(part.blob, 'hex'));
      if (!bytes) return undefined;
      parts.push([name, bytes]);
    }
    return Object.fromEntries(parts);
  };

  return {
    put: ({ workspace, session }, { seq, foldVersion, parts }) => {
      const [owner] = segmentsOf(sessions.lineage({ workspace, session }) ?? [], seq);
      if (!owner) return;
      const manifest = manifestOf(workspace, parts);
      insert.run(workspace, owner.session, foldVersion, seq, JSON.stringify(manifest));
    },
    clear: (workspace) => void clear.run(workspace),
    newest: (key, { seq: upTo, foldVersion }) => {
      for (const { session, from, to } of segmentsOf(sessions.lineage(key) ?? [], upTo)) {
        const rows = eachRow<Row>(candidates, key.workspace, session, foldVersion, from, to);
        for (const { seq, manifest } of rows) {
          const parts = partsOf(key.workspace, manifest);
          if (parts) return { seq, foldVersion, parts };
        }
      }
      return undefined;
    },
  };
};

const parseManifest = (text: string): Manifest | undefined => {
  try {
    return JSON.parse(text) as Manifest;
  } catch {
    return undefined;
  }
};
