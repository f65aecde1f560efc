import type pg from 'pg';
import type { Head, StoredEvent } from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import type { EncodedPayload } from '../payload-codec.ts';
import { prepared } from './database.ts';
import { type ColumnType, type ColumnValue, rowArray } from './row-array.ts';

/** A head, and the hash of the one that it goes on from; a session that has none yet is made. */
export interface NextHead {
  readonly head: Head;
  readonly was: Uint8Array | undefined;
}

export interface EncodedEvent {
  readonly event: StoredEvent;
  readonly payload: Pick<EncodedPayload, 'encoding' | 'stored'>;
}

/** Makes the statement that writes heads and events. Outside a transaction it is one of its own. */
export type WriteLog = (
  workspace: WorkspaceId,
  heads: readonly NextHead[],
  events: readonly EncodedEvent[],
) => pg.QueryConfig;

/** How long to wait for another writer of the same session. */
const lockTimeoutMs = 5000;

const append = prepared(
  'append',
  `select perdure.append($1, $2::perdure.new_head[], $3::perdure.new_event[], ${lockTimeoutMs})`,
);

type Columns<Item> = readonly (readonly [ColumnType, (item: Item) => ColumnValue])[];

/** As in the types `perdure.new_head` and `perdure.new_event`. One that goes on has no root, see `perdure.append`. */
const headColumns: Columns<NextHead> = [
  ['text', ({ head }) => head.session],
  ['bytea', ({ was }) => was ?? null],
  ['text', ({ head }) => head.parent?.session ?? null],
  ['bigint', ({ head }) => head.parent?.seq ?? null],
  ['text', ({ head, was }) => (was ? '' : head.root)],
  ['bigint', ({ head }) => head.seq],
  ['bytea', ({ head }) => head.hash],
  ['bigint', ({ head }) => head.at],
  ['bigint', ({ head }) => head.epoch],
  ['text', ({ head }) => head.summary.status],
  ['bigint', ({ head }) => head.summary.updatedAt],
  ['text', ({ head }) => JSON.stringify(head.summary)],
];

const eventColumns: Columns<EncodedEvent> = [
  ['text', ({ event }) => event.session],
  ['bigint', ({ event }) => event.seq],
  ['bigint', ({ event }) => event.at],
  ['bigint', ({ event }) => event.turn],
  ['boolean', ({ event }) => event.opensTurn],
  ['text', ({ event }) => event.run ?? null],
  ['text', ({ event }) => event.type],
  ['integer', ({ event }) => event.version],
  ['text', ({ event }) => event.actor],
  ['bytea', ({ event }) => (event.body.kind === 'bytes' ? event.body.salt : null)],
  ['smallint', ({ payload }) => payload.encoding],
  ['bytea', ({ payload }) => payload.stored],
  ['bytea', ({ event }) => event.hash],
];

const rowsOf = <Item>(rowType: number, columns: Columns<Item>, items: readonly Item[]): Buffer =>
  rowArray(
    rowType,
    columns.map(([type]) => type),
    items.map((item) => columns.map(([, value]) => value(item))),
  );

/** Row types have other numbers in each database. */
export const openWriteLog = async (client: pg.Client): Promise<WriteLog> => {
  const { rows } = await client.query<{ head: number; event: number }>(
    `select 'perdure.new_head'::regtype::oid as head, 'perdure.new_event'::regtype::oid as event`,
  );
  const types = rows[0]!;
  return (workspace, heads, events) => {
    // In the order of ids, as all writers lock them.
    const inOrder = heads.toSorted((a, b) => (a.head.session < b.head.session ? -1 : 1));
    return append(workspace, rowsOf(types.head, headColumns, inOrder), rowsOf(types.event, eventColumns, events));
  };
};
