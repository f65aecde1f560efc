import type { FoldSnapshot, SessionKey } from '../../../core/ports/store.ts';
import { blobHash } from '../../../core/session/events/chain.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { encodeBlob } from '../../codec/payload-codec.ts';
import { segmentsOf } from '../../log/lineage.ts';
import { blobPartsOf, blobsIn, parseManifest, partsIn, writeManifest } from '../../log/snapshot-manifest.ts';
import { type Database, exchange, prepared, type Source } from '../server/database.ts';
import { hashesThere, hexOf, insertBlobs, readBlobs } from './blobs.ts';
import type { Lineages } from './lineages.ts';

const insert = prepared(
  'insert_snapshot',
  `insert into perdure.snapshots (workspace, session, fold_version, seq, manifest) values ($1, $2, $3, $4, $5)
   on conflict (workspace, session, fold_version, seq) do update set manifest = excluded.manifest`,
);

const findNewest = prepared(
  'find_snapshot',
  `select found.seq, found.manifest
   from unnest($2::text[], $3::bigint[], $4::bigint[]) s(session, first, last)
   cross join lateral (
     select seq, manifest from perdure.snapshots
     where workspace = $1 and session = s.session and fold_version = $5 and seq between s.first and s.last
     order by seq desc limit 1
   ) found
   order by found.seq desc limit 1`,
);

/** The parts that are not stored yet, as blobs. Blobs that exist already are neither compressed nor sent again. */
const newBlobs = async (database: Database, workspace: WorkspaceId, parts: readonly Uint8Array[]) => {
  const byHash = new Map(parts.map((bytes) => [hexOf(blobHash(bytes)), bytes]));
  for (const hash of await hashesThere(database, workspace, [...byHash.keys()])) byHash.delete(hash);
  return Promise.all([...byHash.values()].map(encodeBlob));
};

/**
 * Stores a snapshot with the session that owns its event, so that every fork that inherits the event can use the
 * snapshot.
 */
export const putSnapshot = async (
  database: Database,
  lineages: Lineages,
  key: SessionKey,
  { seq, foldVersion, parts }: FoldSnapshot,
): Promise<void> => {
  const [owner] = segmentsOf((await lineages.get(key)) ?? [], seq);
  if (!owner) return;
  const { workspace } = key;
  const large = blobPartsOf(parts);
  const blobs = large.length > 0 ? await newBlobs(database, workspace, large) : [];
  const manifest = writeManifest(parts, (bytes) => hexOf(blobHash(bytes)));
  await database.use((client) =>
    exchange(client, [
      database.opening(workspace, 'read write'),
      blobs.length > 0 ? insertBlobs(workspace, blobs) : undefined,
      insert(workspace, owner.session, foldVersion, seq, manifest),
      'commit',
    ]),
  );
};

const readParts = async (
  source: Source,
  workspace: WorkspaceId,
  text: string,
): Promise<FoldSnapshot['parts'] | undefined> => {
  const manifest = parseManifest(text);
  if (!manifest) return undefined;
  const named = blobsIn(manifest).map((hash) => Buffer.from(hash, 'hex'));
  const blobs = await readBlobs(source, workspace, named);
  return partsIn(manifest, (hash) => blobs.get(hash));
};

export const findSnapshot = async (
  source: Source,
  lineages: Lineages,
  key: SessionKey,
  { seq: upTo, foldVersion }: { readonly seq: number; readonly foldVersion: number },
): Promise<FoldSnapshot | undefined> => {
  const segments = segmentsOf((await lineages.get(key)) ?? [], upTo);
  if (segments.length === 0) return undefined;
  const [row] = await source.read<{ seq: number; manifest: string }>(
    key.workspace,
    findNewest(
      key.workspace,
      segments.map(({ session }) => session),
      segments.map(({ from }) => from),
      segments.map(({ to }) => to),
      foldVersion,
    ),
  );
  if (!row) return undefined;
  const parts = await readParts(source, key.workspace, row.manifest);
  if (parts) return { seq: row.seq, foldVersion, parts };
  return findSnapshot(source, lineages, key, { seq: row.seq - 1, foldVersion });
};
