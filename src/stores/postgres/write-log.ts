import type pg from 'pg';
import type { Head, StoredEvent } from '../../core/ports/store.ts';
import type { WorkspaceId } from '../../schema/ids.ts';
import type { EncodedPayload } from '../payload-codec.ts';
import { byteaArray } from './bytea-array.ts';
import { prepared } from './database.ts';

/** A head, and the hash of the one that it follows; a session that has none yet is made. */
export interface NextHead {
  readonly head: Head;
  readonly was: Uint8Array | undefined;
}

export interface EncodedEvent {
  readonly event: StoredEvent;
  readonly payload: Pick<EncodedPayload, 'encoding' | 'stored'>;
}

/** How long to wait for another writer of the same session. */
const lockTimeoutMs = 5000;

const append = prepared(
  'append',
  `select perdure.append($1, ${lockTimeoutMs},
     $2::text[], $3::bytea[], $4::text[], $5::bigint[], $6::text[], $7::bigint[], $8::bytea[], $9::bigint[], $10::bigint[],
     $11::text[], $12::bigint[], $13::text[],
     $14::text[], $15::bigint[], $16::bigint[], $17::bigint[], $18::boolean[], $19::text[], $20::text[],
     $21::integer[], $22::text[], $23::bytea[], $24::smallint[], $25::bytea[], $26::bytea[])`,
);

const headValues = (heads: readonly NextHead[]): readonly unknown[] => [
  heads.map(({ head }) => head.session),
  byteaArray(heads.map(({ was }) => was ?? null)),
  heads.map(({ head }) => head.parent?.session ?? null),
  heads.map(({ head }) => head.parent?.seq ?? null),
  heads.map(({ head, was }) => (was ? '' : head.root)),
  heads.map(({ head }) => head.seq),
  byteaArray(heads.map(({ head }) => head.hash)),
  heads.map(({ head }) => head.at),
  heads.map(({ head }) => head.epoch),
  heads.map(({ head }) => head.summary.status),
  heads.map(({ head }) => head.summary.updatedAt),
  heads.map(({ head }) => JSON.stringify(head.summary)),
];

const eventValues = (rows: readonly EncodedEvent[]): readonly unknown[] => [
  rows.map(({ event }) => event.session),
  rows.map(({ event }) => event.seq),
  rows.map(({ event }) => event.at),
  rows.map(({ event }) => event.turn),
  rows.map(({ event }) => event.opensTurn),
  rows.map(({ event }) => event.run ?? null),
  rows.map(({ event }) => event.type),
  rows.map(({ event }) => event.version),
  rows.map(({ event }) => event.actor),
  byteaArray(rows.map(({ event }) => (event.body.kind === 'bytes' ? event.body.salt : null))),
  rows.map(({ payload }) => payload.encoding),
  byteaArray(rows.map(({ payload }) => payload.stored)),
  byteaArray(rows.map(({ event }) => event.hash)),
];

/** Heads in the order of ids, as all writers lock them, and before the events: whoever has a head has all that belongs to it. */
export const writeLog = (
  workspace: WorkspaceId,
  heads: readonly NextHead[],
  events: readonly EncodedEvent[],
): pg.QueryConfig => {
  const inOrder = heads.toSorted((a, b) => (a.head.session < b.head.session ? -1 : 1));
  return append(workspace, ...headValues(inOrder), ...eventValues(events));
};
