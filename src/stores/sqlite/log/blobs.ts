import type { DatabaseSync } from 'node:sqlite';
import type { BlobHash, LooseBlob, LooseBlobs } from '../../../core/ports/blobs.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { decodeBlobSync, type EncodedBlob, encodeBlobSync } from '../../codec/payload-codec.ts';
import type { CountedBytes } from '../../log/meter.ts';
import { lazyStatement } from '../file/lazy-statement.ts';

export interface Blobs {
  /** The content, or undefined when it is missing or does not match its hash. */
  read(workspace: WorkspaceId, hash: Uint8Array): Uint8Array | undefined;
  /** The decoded size, so that a reader can limit how much it decompresses. */
  sizeOf(workspace: WorkspaceId, hash: Uint8Array): number;
  /** Keeps an intact blob and repairs a damaged one. The blob counts for no quota, because its log does. */
  write(workspace: WorkspaceId, blob: EncodedBlob): void;
  /** Like `write`, for a blob that counts for a member. Returns the bytes that were not counted before. */
  put(workspace: WorkspaceId, blob: EncodedBlob, member: string): CountedBytes;
  /** Like `write`, but compresses only if needed. Returns the hash. */
  writeBytes(workspace: WorkspaceId, bytes: Uint8Array): Uint8Array;
  /** Returns the blobs that exist, and resets their age as if they had just been written. */
  touch(workspace: WorkspaceId, hashes: readonly BlobHash[]): ReadonlySet<BlobHash>;
  loose(workspace: WorkspaceId, query: LooseBlobs): readonly LooseBlob[];
  remove(workspace: WorkspaceId, hashes: readonly BlobHash[], usedBefore: number): RemovedBlobs;
}

export interface RemovedBlobs {
  readonly hashes: readonly BlobHash[];
  /** The sizes of those that counted for quotas, below 0. */
  readonly freed: readonly CountedBytes[];
}

interface BlobRow {
  readonly size: number;
  readonly encoding: number;
  readonly bytes: Uint8Array;
}

/**
 * Further uses of a blob within this time do not update its row. So its last use may be this much later than the row
 * says.
 */
const touchAfterMs = 60_000;
const usedAt = `(put_at + ${touchAfterMs})`;

const isLoose = `NOT EXISTS (SELECT 1 FROM events e WHERE e.workspace = ?1 AND e.encoding = 2 AND e.payload = blobs.hash)
    AND lower(hex(hash)) NOT IN (
      SELECT part.value ->> 'blob' FROM snapshots s, json_each(iif(json_valid(s.manifest), s.manifest, '{}')) part
      WHERE s.workspace = ?1 AND part.type = 'object' AND part.value ->> 'blob' IS NOT NULL)`;

export const openBlobs = (db: DatabaseSync): Blobs => {
  const select = db.prepare('SELECT size, encoding, bytes FROM blobs WHERE workspace = ? AND hash = ?');
  const size = lazyStatement(db, 'SELECT size FROM blobs WHERE workspace = ? AND hash = ?');
  const insert =
    db.prepare(`INSERT INTO blobs (workspace, hash, put_at, size, encoding, bytes, counted, member) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET put_at = excluded.put_at, size = excluded.size, encoding = excluded.encoding, bytes = excluded.bytes,
      member = iif(counted < excluded.counted, excluded.member, member), counted = max(counted, excluded.counted)
    WHERE bytes <> excluded.bytes OR size <> excluded.size OR put_at < excluded.put_at - ${touchAfterMs}
      OR counted < excluded.counted`);
  const counted = lazyStatement(
    db,
    'SELECT size AS bytes, member FROM blobs WHERE workspace = ? AND hash = ? AND counted = 1',
  );
  const age = db.prepare('SELECT put_at AS putAt FROM blobs WHERE workspace = ? AND hash = ?');
  const renew = db.prepare('UPDATE blobs SET put_at = ? WHERE workspace = ? AND hash = ?');
  const loose = lazyStatement(
    db,
    `SELECT lower(hex(hash)) AS hash, size, ${usedAt} AS usedAt FROM blobs
    WHERE workspace = ?1 AND hash > unhex(?2) AND ${isLoose} ORDER BY blobs.hash LIMIT ?3`,
  );
  const remove = lazyStatement(
    db,
    `DELETE FROM blobs
    WHERE workspace = ?1 AND hash IN (SELECT unhex(value) FROM json_each(?2)) AND ${usedAt} < ?3 AND ${isLoose}
    RETURNING lower(hex(hash)) AS hash, -size * counted AS bytes, member`,
  );
  const insertBlob = (workspace: WorkspaceId, { hash, size, encoding, stored }: EncodedBlob, member?: string): void => {
    insert.run(workspace, hash, Date.now(), size, encoding, stored, member === undefined ? 0 : 1, member ?? '');
  };
  const write: Blobs['write'] = (workspace, blob) => insertBlob(workspace, blob);
  const read: Blobs['read'] = (workspace, hash) => {
    const row = select.get(workspace, hash) as BlobRow | undefined;
    return row && intactContent(row, hash);
  };
  return {
    read,
    sizeOf: (workspace, hash) => Number(size().get(workspace, hash)?.size ?? 0),
    write,
    put: (workspace, blob, member) => {
      const before = counted().get(workspace, blob.hash) as unknown as CountedBytes | undefined;
      insertBlob(workspace, blob, member);
      return { member: before?.member ?? member, bytes: blob.size - (before?.bytes ?? 0) };
    },
    writeBytes: (workspace, bytes) => {
      const hash = blobHash(bytes);
      if (!read(workspace, hash)) write(workspace, encodeBlobSync(bytes));
      return hash;
    },
    touch: (workspace, hashes) => {
      const now = Date.now();
      return new Set(
        hashes.filter((name) => {
          const hash = Buffer.from(name, 'hex');
          const row = age.get(workspace, hash) as { putAt: number } | undefined;
          if (row && row.putAt < now - touchAfterMs) renew.run(now, workspace, hash);
          return row !== undefined;
        }),
      );
    },
    loose: (workspace, { after = '', limit }) =>
      loose()
        .all(workspace, after, limit)
        .map((row) => ({ ...row }) as unknown as LooseBlob),
    remove: (workspace, hashes, usedBefore) => {
      const removed = remove().all(workspace, JSON.stringify(hashes), usedBefore);
      return {
        hashes: removed.map(({ hash }) => String(hash)),
        freed: removed.map(({ member, bytes }) => ({ member: String(member), bytes: Number(bytes) })),
      };
    },
  };
};

const intactContent = ({ size, encoding, bytes }: BlobRow, hash: Uint8Array): Uint8Array | undefined => {
  try {
    const content = decodeBlobSync(encoding, bytes, size);
    return blobHash(content).equals(hash) ? content : undefined;
  } catch {
    return undefined;
  }
};
