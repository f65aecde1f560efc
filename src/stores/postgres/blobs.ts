import type pg from 'pg';
import type { WorkspaceId } from '../../schema/ids.ts';
import { decodeBlob, type EncodedBlob } from '../payload-codec.ts';
import { sha256 } from '../sha256.ts';
import { byteaArray } from './bytea-array.ts';
import { prepared, type Source } from './database.ts';

interface BlobRow {
  readonly hash: Uint8Array;
  readonly encoding: number;
  readonly bytes: Uint8Array;
}

export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const insert = prepared(
  'insert_blobs',
  `insert into perdure.blobs (workspace, hash, size, encoding, bytes)
   select $1, * from unnest($2::bytea[], $3::bigint[], $4::smallint[], $5::bytea[])
   on conflict (workspace, hash) do update set size = excluded.size, encoding = excluded.encoding, bytes = excluded.bytes
   where blobs.bytes <> excluded.bytes`,
);

const find = prepared(
  'find_blobs',
  `select b.* from unnest($2::bytea[]) asked(hash)
   cross join lateral (
     select hash, encoding, bytes from perdure.blobs where workspace = $1 and hash = asked.hash limit 1
   ) b`,
);

/**
 * Leaves alone what is there and puts right what was damaged. In the order of hashes, so that two writers of the same blobs wait for
 * each other in one direction.
 */
export const insertBlobs = (workspace: WorkspaceId, given: readonly EncodedBlob[]): pg.QueryConfig => {
  const once = new Map(given.map((blob) => [hexOf(blob.hash), blob]));
  const blobs = [...once.values()].sort((a, b) => Buffer.compare(a.hash, b.hash));
  return insert(
    workspace,
    byteaArray(blobs.map(({ hash }) => hash)),
    blobs.map(({ size }) => size),
    blobs.map(({ encoding }) => encoding),
    byteaArray(blobs.map(({ stored }) => stored)),
  );
};

/** Undefined when the stored bytes are not those that the hash names. */
const intactContent = async ({ hash, encoding, bytes }: BlobRow): Promise<Uint8Array | undefined> => {
  const content = await decodeBlob(encoding, bytes).catch(() => undefined);
  if (!content || hexOf(await sha256(content)) !== hexOf(hash)) return undefined;
  return new Uint8Array(content.buffer, content.byteOffset, content.length);
};

/** By the hash in hex; what is damaged is left out like what is missing. */
export const readBlobs = async (
  source: Source,
  workspace: WorkspaceId,
  hashes: readonly Uint8Array[],
): Promise<ReadonlyMap<string, Uint8Array>> => {
  const found = new Map<string, Uint8Array>();
  if (hashes.length === 0) return found;
  for (const row of await source.read<BlobRow>(workspace, find(workspace, byteaArray(hashes)))) {
    const content = await intactContent(row);
    if (content) found.set(hexOf(row.hash), content);
  }
  return found;
};
