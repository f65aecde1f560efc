import type pg from 'pg';
import type { BlobHash, LooseBlob, LooseBlobs, NewBlob } from '../../../core/ports/blobs.ts';
import { quotaError } from '../../../core/session/quota-refusal.ts';
import type { WorkspaceId } from '../../../schema/ids.ts';
import { decodeBlob, type EncodedBlob, encodeBlobs } from '../../codec/payload-codec.ts';
import { sha256 } from '../../codec/sha256.ts';
import { checkQuotas } from '../../log/check-quotas.ts';
import { ledgerKeyName, meterBlobs } from '../../log/meter.ts';
import { byteaArray } from '../server/bytea-array.ts';
import { type Database, prepared, type Source } from '../server/database.ts';
import { isConnectionLost, isOutdated, isUndone } from '../server/store-error.ts';
import {
  enterLedger,
  findQuotas,
  holdQuotas,
  lockLedger,
  type QuotaRow,
  quotasIn,
  refuseQuotas,
} from './ledger-rows.ts';

interface BlobRow {
  readonly hash: Uint8Array;
  readonly size: number;
  readonly encoding: number;
  readonly bytes: Uint8Array;
}

export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Returns the blobs that are new, whose rows have no older version. */
const insert = prepared(
  'insert_blobs',
  `insert into perdure.blobs (workspace, hash, size, encoding, bytes, counted, member)
   select $1, *, $6::boolean, $7 from unnest($2::bytea[], $3::bigint[], $4::smallint[], $5::bytea[])
   on conflict (workspace, hash) do update
   set put_at = excluded.put_at, size = excluded.size, encoding = excluded.encoding, bytes = excluded.bytes
   where blobs.bytes <> excluded.bytes or blobs.size <> excluded.size or blobs.put_at < excluded.put_at - interval '1 minute'
   returning size, xmax = 0 as is_new`,
);

/** Counts blobs that a log or a fold snapshot already held. The insert before has locked them. */
const count = prepared(
  'count_blobs',
  `update perdure.blobs set counted = true, member = $3
   where workspace = $1 and hash = any($2::bytea[]) and not counted returning size`,
);

const find = prepared(
  'find_blobs',
  `select b.* from unnest($2::bytea[]) asked(hash)
   cross join lateral (
     select hash, size, encoding, bytes from perdure.blobs where workspace = $1 and hash = asked.hash limit 1
   ) b`,
);

const findSizes = prepared(
  'find_blob_sizes',
  `select b.* from unnest($2::bytea[]) asked(hash)
   cross join lateral (select hash, size from perdure.blobs where workspace = $1 and hash = asked.hash limit 1) b`,
);

/** Locks in hash order, like all writers, so that two writers cannot deadlock. */
const renew = prepared(
  'renew_blobs',
  `update perdure.blobs b set put_at = clock_timestamp()
   from (
     select hash from perdure.blobs
     where workspace = $1 and hash = any($2::bytea[]) and put_at < clock_timestamp() - interval '1 minute'
     order by hash for update
   ) stale
   where b.workspace = $1 and b.hash = stale.hash`,
);

const findHashes = prepared(
  'find_blob_hashes',
  `select b.hash from unnest($2::bytea[]) asked(hash)
   cross join lateral (select hash from perdure.blobs where workspace = $1 and hash = asked.hash limit 1) b`,
);

/** The latest time at which a blob may have been used. Further uses within a minute do not update its row. */
const usedAt = `(b.put_at + interval '1 minute')`;

/** Finds the blobs in a manifest, even a damaged one. Conditions such as `is json` need PostgreSQL 16. */
export const namedBlob = '"blob"\\s*:\\s*"([0-9a-f]{64})"';

const isLoose = `not exists (select 1 from perdure.events e where e.workspace = $1 and e.encoding = 2 and e.payload = b.hash)
   and encode(b.hash, 'hex') not in (
     select named[1] from perdure.snapshots s, regexp_matches(s.manifest, '${namedBlob}', 'g') named
     where s.workspace = $1
   )`;

const findLoose = prepared(
  'find_loose_blobs',
  `select b.hash, b.size, floor(extract(epoch from ${usedAt}) * 1000)::bigint as used_at from perdure.blobs b
   where b.workspace = $1 and b.hash > $2 and ${isLoose} order by b.hash limit $3`,
);

/** Takes what was counted from the ledger, if the workspace has one. */
const remove = prepared(
  'remove_blobs',
  `with removed as (
     delete from perdure.blobs b where b.workspace = $1 and b.hash = any($2::bytea[])
       and ${usedAt} < to_timestamp($3 / 1000.0) and ${isLoose}
     returning b.hash, b.size, b.counted, b.member
   ), sizes as (
     select whose, sum(size)::bigint as size
     from removed cross join lateral unnest(case member when '' then array[''] else array['', member] end) whose
     where counted group by whose
   ), freed as (
     select perdure.enter_ledger(
       $1, false, array_agg(whose), array_agg('bytes'::text), array_agg(''::text), array_agg(-size), array_agg(0::bigint)
     ) is null as entered
     from sizes having count(*) > 0
   )
   select hash, entered from removed left join freed on true`,
);

const bytesOf = (hash: BlobHash): Buffer => Buffer.from(hash, 'hex');
const namesOf = (rows: readonly { readonly hash: Uint8Array }[]): BlobHash[] => rows.map(({ hash }) => hexOf(hash));

export const hashesThere = async (
  source: Source,
  workspace: WorkspaceId,
  hashes: readonly BlobHash[],
): Promise<ReadonlySet<BlobHash>> =>
  new Set(namesOf(await source.read(workspace, findHashes(workspace, byteaArray(hashes.map(bytesOf))))));

/**
 * Stores blobs. Without quotas, this takes one round trip, which the database rejects if the workspace has some.
 * `limited` holds the workspaces that had quotas when they were last read.
 */
export const putBlobs = async (
  database: Database,
  limited: Set<WorkspaceId>,
  workspace: WorkspaceId,
  blobs: readonly NewBlob[],
  member = '',
): Promise<void> => {
  const encoded = await encodeBlobs(blobs);
  const hashes = byteaArray(encoded.map(({ hash }) => hash));
  const statements = [insertBlobs(workspace, encoded, member), count(workspace, hashes, member)];
  if (!limited.has(workspace)) {
    try {
      await database.write(workspace, [...statements, refuseQuotas(workspace)]);
      return;
    } catch (error) {
      if (!isOutdated(error)) throw error;
    }
  }
  const put = () =>
    database.feed(workspace, [...statements, holdQuotas(workspace), findQuotas(workspace)], async (client, answers) => {
      const [inserted, counted, , found] = answers.map(({ rows }) => rows);
      const quotas = quotasIn(found as QuotaRow[]);
      if (quotas.size > 0) limited.add(workspace);
      else limited.delete(workspace);
      const added = [...inserted!.filter(({ is_new }) => is_new), ...counted!];
      const metered = meterBlobs(added.map(({ size }) => ({ member, bytes: size })));
      if (!metered || quotas.size === 0) return;
      const rows = await lockLedger(client, workspace, metered.changes);
      const refusal = checkQuotas(quotas, metered, (key) => rows.get(ledgerKeyName(key)));
      if (refusal) throw quotaError(workspace, refusal);
      await client.query(enterLedger(workspace, metered.changes, false));
    });
  await put().catch((error: unknown) => {
    if (!isConnectionLost(error) && !isUndone(error)) throw error;
    return put();
  });
};

/** Resets the age of the blobs that exist, as if they had just been written. */
export const touchBlobs = async (
  database: Database,
  workspace: WorkspaceId,
  hashes: readonly BlobHash[],
): Promise<ReadonlySet<BlobHash>> => {
  const asked = byteaArray(hashes.map(bytesOf));
  const [, there] = await database.write(workspace, [renew(workspace, asked), findHashes(workspace, asked)]);
  return new Set(namesOf(there!.rows));
};

export const findLooseBlobs = async (
  source: Source,
  workspace: WorkspaceId,
  { after = '', limit }: LooseBlobs,
): Promise<readonly LooseBlob[]> => {
  const rows = await source.read<{ hash: Uint8Array; size: number; used_at: number }>(
    workspace,
    findLoose(workspace, bytesOf(after), limit),
  );
  return rows.map(({ hash, size, used_at }) => ({ hash: hexOf(hash), size, usedAt: used_at }));
};

export const removeBlobs = async (
  database: Database,
  workspace: WorkspaceId,
  hashes: readonly BlobHash[],
  usedBefore: number,
): Promise<readonly BlobHash[]> => {
  const [removed] = await database.write(workspace, [remove(workspace, byteaArray(hashes.map(bytesOf)), usedBefore)]);
  return namesOf(removed!.rows);
};

/**
 * Keeps intact blobs and repairs damaged ones. New blobs count for `member`, if it is given, and else not at all,
 * because the log counts large payloads itself. Writes in hash order, so that two writers of the same blobs cannot
 * deadlock.
 */
export const insertBlobs = (workspace: WorkspaceId, given: readonly EncodedBlob[], member?: string): pg.QueryConfig => {
  const once = new Map(given.map((blob) => [hexOf(blob.hash), blob]));
  const blobs = [...once.values()].sort((a, b) => Buffer.compare(a.hash, b.hash));
  return insert(
    workspace,
    byteaArray(blobs.map(({ hash }) => hash)),
    blobs.map(({ size }) => size),
    blobs.map(({ encoding }) => encoding),
    byteaArray(blobs.map(({ stored }) => stored)),
    member !== undefined,
    member ?? '',
  );
};

/** The content of a blob; undefined if the stored bytes do not match the hash. */
const intactContent = async ({ hash, size, encoding, bytes }: BlobRow): Promise<Uint8Array | undefined> => {
  const content = await decodeBlob(encoding, bytes, size).catch(() => undefined);
  if (!content || hexOf(await sha256(content)) !== hexOf(hash)) return undefined;
  return new Uint8Array(content.buffer, content.byteOffset, content.length);
};

/** The decoded sizes of blobs by hex hash, so that a reader can limit how much it decompresses. */
export const blobSizes = async (
  source: Source,
  workspace: WorkspaceId,
  hashes: readonly Uint8Array[],
): Promise<ReadonlyMap<string, number>> => {
  if (hashes.length === 0) return new Map();
  const rows = await source.read<Pick<BlobRow, 'hash' | 'size'>>(workspace, findSizes(workspace, byteaArray(hashes)));
  return new Map(rows.map(({ hash, size }) => [hexOf(hash), size]));
};

/** The contents of blobs by hex hash. Damaged blobs are absent, like missing ones. */
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
