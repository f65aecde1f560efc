import type pg from 'pg';
import type { SessionKey, StoredKey } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { type Database, prepared } from '../server/database.ts';

const find = prepared(
  'list_keys',
  `select key, body_hash as "bodyHash", seq, count from perdure.keys
   where workspace = $1 and session = $2 and ($3::text is null or key = $3) order by seq, key`,
);

const insert = prepared(
  'insert_keys',
  `insert into perdure.keys (workspace, session, key, body_hash, seq, count)
   select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::integer[])`,
);

export interface KeyOfSession extends StoredKey {
  readonly session: SessionId;
}

export const listKeys = (
  database: Database,
  { workspace, session }: SessionKey,
  only: string | undefined,
): Promise<readonly StoredKey[]> => database.read<StoredKey>(workspace, find(workspace, session, only));

export const insertKeys = (workspace: WorkspaceId, keys: readonly KeyOfSession[]): pg.QueryConfig =>
  insert(
    workspace,
    keys.map(({ session }) => session),
    keys.map(({ key }) => key),
    keys.map(({ bodyHash }) => bodyHash),
    keys.map(({ seq }) => seq),
    keys.map(({ count }) => count),
  );
