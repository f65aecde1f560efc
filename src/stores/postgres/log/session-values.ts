import type pg from 'pg';
import type { SessionValue } from '../../../core/ports/session-value.ts';
import type { SessionKey } from '../../../core/ports/store.ts';
import { anySession } from '../../../core/session/session-values.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import { isUnchanged, type ListedHead, type ListingChange, listingChange } from '../../log/listing-change.ts';
import { type ListingKey, ListingKeys, type PlacedHead } from '../../log/listing-key.ts';
import { type Database, prepared } from '../server/database.ts';

/** A column of a query on `perdure.sessions`: the session's place in the index of listings. */
export const listedColumn = `(select v.level || ':' || v.span from perdure.session_values v
  where v.workspace = sessions.workspace and v.session = sessions.id and v.name = '${anySession.name}') as listed`;

const clear = prepared(
  'clear_values',
  'delete from perdure.session_values where workspace = $1 and session = any($2::text[])',
);

const drop = prepared(
  'drop_values',
  `delete from perdure.session_values v using unnest($2::text[], $3::text[], $4::text[]) d(session, name, value)
   where v.workspace = $1 and v.session = d.session and v.name = d.name and v.value = d.value`,
);

const move = prepared(
  'move_values',
  `update perdure.session_values v set level = m.level, span = m.span
   from unnest($2::text[], $3::smallint[], $4::bigint[]) m(session, level, span)
   where v.workspace = $1 and v.session = m.session`,
);

const add = prepared(
  'add_values',
  `insert into perdure.session_values (workspace, session, name, value, level, span)
   select $1, * from unnest($2::text[], $3::text[], $4::text[], $5::smallint[], $6::bigint[])
   on conflict (workspace, session, name, value) do update set level = excluded.level, span = excluded.span`,
);

/** The places that this process has given to sessions, in whatever database. */
const keys = new ListingKeys();

interface SessionChange extends ListingChange {
  readonly session: SessionId;
}

const rowsOf = (changes: readonly SessionChange[], kind: 'dropped' | 'added') =>
  changes.flatMap(({ session, key, ...change }) => change[kind].map((each) => ({ session, key, ...each })));

export interface ValueWrites {
  readonly statements: readonly pg.QueryConfig[];
  /** The place of each session in the index of listings. */
  readonly places: ReadonlyMap<SessionId, ListingKey>;
}

/** The statements that write what changed in the values of these sessions. Most appends change none. */
export const writeValues = (
  workspace: WorkspaceId,
  heads: readonly { readonly head: ListedHead; readonly before: PlacedHead | undefined }[],
): ValueWrites => {
  const all = heads.map(({ head, before }) => ({ session: head.session, ...listingChange(keys, head, before) }));
  const places = new Map(all.map(({ session, key }) => [session, key]));
  const changes = all.filter((each) => !isUnchanged(each));
  if (changes.length === 0) return { statements: [], places };
  const created = changes.filter(({ isNew }) => isNew).map(({ session }) => session);
  const moved = changes.filter(({ isMoved }) => isMoved);
  const [dropped, added] = [rowsOf(changes, 'dropped'), rowsOf(changes, 'added')];
  const column = <Row, Value>(rows: readonly Row[], of: (row: Row) => Value): readonly Value[] => rows.map(of);
  return {
    places,
    statements: [
      ...(created.length > 0 ? [clear(workspace, created)] : []),
      ...(dropped.length > 0
        ? [
            drop(
              workspace,
              column(dropped, ({ session }) => session),
              column(dropped, ({ name }) => name),
              column(dropped, ({ value }) => value),
            ),
          ]
        : []),
      ...(moved.length > 0
        ? [
            move(
              workspace,
              column(moved, ({ session }) => session),
              column(moved, ({ key }) => key.level),
              column(moved, ({ key }) => key.span),
            ),
          ]
        : []),
      ...(added.length > 0
        ? [
            add(
              workspace,
              column(added, ({ session }) => session),
              column(added, ({ name }) => name),
              column(added, ({ value }) => value),
              column(added, ({ key }) => key.level),
              column(added, ({ key }) => key.span),
            ),
          ]
        : []),
    ],
  };
};

const find = prepared(
  'find_values',
  'select name, value from perdure.session_values where workspace = $1 and session = $2',
);

export const findValues = (database: Database, { workspace, session }: SessionKey): Promise<readonly SessionValue[]> =>
  database.read<SessionValue>(workspace, find(workspace, session));
