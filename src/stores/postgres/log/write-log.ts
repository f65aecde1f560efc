import type pg from 'pg';
import type { Head, StoredEvent } from '../../../core/ports/store.ts';
import type { SessionId, WorkspaceId } from '../../../schema/ids.ts';
import type { EncodedPayload } from '../../codec/payload-codec.ts';
import { summaryText } from '../../log/stored-summary.ts';
import { type WorkEntry, workEntryOf } from '../../queue/work-entry.ts';
import { releaseNumbers } from '../../release.ts';
import { workColumns } from '../queue/work-rows.ts';
import { type Database, prepared } from '../server/database.ts';
import { admittedBy } from './migrations.ts';
import type { PathRow } from './projection-rows.ts';
import { RowWriter } from './row-writer.ts';

/** A new head, and the hash of the head that it continues. Without the hash, it creates the session. */
export interface NextHead {
  readonly head: Head;
  readonly was: Uint8Array | undefined;
}

export interface EncodedEvent {
  readonly event: StoredEvent;
  readonly payload: Pick<EncodedPayload, 'encoding' | 'stored'>;
}

export interface LogRows {
  readonly heads: readonly NextHead[];
  readonly events: readonly EncodedEvent[];
  /** The paths by which queries find the commits. */
  readonly paths: readonly PathRow[];
  /** Whether the events are imported. Imported events enter no work into the queue. */
  readonly imported?: boolean;
  /** Whether the previous heads were read in the same transaction, and are not from the cache. */
  readonly fresh: boolean;
}

/**
 * Builds the statement that writes heads, events and paths. Outside a transaction, the statement is its own
 * transaction.
 */
export type WriteLog = (workspace: WorkspaceId, rows: LogRows) => pg.QueryConfig;

/** Returns neither columns nor rows, because describing and reading them would take longer than the call. */
const append = prepared(
  'append',
  'select where perdure.append($1, $2::perdure.new_head[], $3::perdure.new_event[], $4, $5, $6::perdure.new_path[], $7::text[], $8::bigint[], $9::text[], $10::smallint[], $11::integer[], $12) is null',
);

const sum = <Item>(items: readonly Item[], of: (item: Item) => number): number =>
  items.reduce((total, item) => total + of(item), 0);

/** Columns in the order of the type `perdure.new_head`. A continued session has no root; see `perdure.append`. */
const headRows = (rowType: number, heads: readonly NextHead[]): Buffer => {
  const rows = new RowWriter(rowType, 13, heads.length * 840);
  for (const { head, was } of heads) {
    rows.row(() => {
      rows.text(head.session);
      rows.bytea(was);
      rows.text(head.parent?.session);
      rows.bigint(head.parent?.seq);
      rows.text(was ? '' : head.root);
      rows.bigint(head.seq);
      rows.bytea(head.hash);
      rows.bigint(head.at);
      rows.bigint(head.epoch);
      rows.text(head.summary.status);
      rows.bigint(head.summary.updatedAt);
      rows.text(summaryText(head));
      rows.text(head.claim);
    });
  }
  return rows.finish();
};

/** Columns in the order of the type `perdure.new_event`. */
const eventRows = (rowType: number, events: readonly EncodedEvent[]): Buffer => {
  const rows = new RowWriter(
    rowType,
    13,
    sum(events, ({ payload }) => payload.stored.length + 400),
  );
  for (const { event, payload } of events) {
    rows.row(() => {
      rows.text(event.session);
      rows.bigint(event.seq);
      rows.bigint(event.at);
      rows.bigint(event.turn);
      rows.boolean(event.opensTurn);
      rows.text(event.run);
      rows.text(event.type);
      rows.integer(event.version);
      rows.text(event.actor);
      rows.bytea(event.body.kind === 'bytes' ? event.body.salt : undefined);
      rows.smallint(payload.encoding);
      rows.bytea(payload.stored);
      rows.bytea(event.hash);
    });
  }
  return rows.finish();
};

/** Columns in the order of the type `perdure.new_path`; null when there are none. */
const pathRows = (rowType: number, paths: readonly PathRow[]): Buffer | null => {
  if (paths.length === 0) return null;
  const rows = new RowWriter(rowType, 8, paths.length * 300);
  for (const { event, path, tool, provenance } of paths) {
    rows.row(() => {
      rows.text(event.session);
      rows.bigint(event.seq);
      rows.text(path);
      rows.bigint(event.turn);
      rows.bigint(event.at);
      rows.text(event.actor);
      rows.text(tool);
      rows.text(provenance);
    });
  }
  return rows.finish();
};

/**
 * Queue entries of sessions that concern workers, sorted by id because all writers lock in that order. Nulls when
 * there are none.
 */
const workOf = (
  heads: readonly NextHead[],
  events: readonly EncodedEvent[],
): readonly (readonly unknown[] | null)[] => {
  const bySession = Map.groupBy(events, ({ event }) => event.session);
  const entries = heads.flatMap(({ head }): (WorkEntry & { readonly session: SessionId })[] => {
    const own = bySession.get(head.session) ?? [];
    const entry = workEntryOf(
      head.summary,
      own.map(({ event }) => event),
    );
    return entry ? [{ session: head.session, ...entry }] : [];
  });
  if (entries.length === 0) return [null, null, null, null];
  return workColumns(entries);
};

const byId = (a: NextHead, b: NextHead): number => (a.head.session < b.head.session ? -1 : 1);

/**
 * Row types have different OIDs in each database. A writer waits as long as a statement may take for another writer of
 * the same session.
 */
export const openWriteLog = async (
  client: pg.Client,
  { statementTimeoutMs: lockTimeoutMs, release }: Pick<Database, 'statementTimeoutMs' | 'release'>,
): Promise<WriteLog> => {
  const { rows } = await client.query<{ head: number; event: number; path: number }>(
    `select 'perdure.new_head'::regtype::oid as head, 'perdure.new_event'::regtype::oid as event,
      'perdure.new_path'::regtype::oid as path`,
  );
  const types = rows[0]!;
  const admitted = await admittedBy(client, release);
  return (workspace, { heads, events, paths, fresh, imported }) => {
    // All writers lock in the order of ids, so that they cannot deadlock.
    const sorted = heads.toSorted(byId);
    const log = [headRows(types.head, sorted), eventRows(types.event, events), fresh, lockTimeoutMs] as const;
    const work = workOf(sorted, imported ? [] : events);
    return append(workspace, ...log, pathRows(types.path, paths), ...work, releaseNumbers(release), admitted);
  };
};
