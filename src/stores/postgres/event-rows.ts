import type pg from 'pg';
import type { StoredEvent } from '../../core/ports/store.ts';
import type { Actor, RunId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { EncodedPayload } from '../payload-codec.ts';
import { byteaArray } from './bytea-array.ts';
import { prepared } from './database.ts';

export interface EventRow {
  readonly session: SessionId;
  readonly seq: number;
  readonly at: number;
  readonly turn: number;
  readonly opens_turn: boolean;
  readonly run: RunId | null;
  readonly type: string;
  readonly version: number;
  readonly actor: Actor;
  readonly salt: Uint8Array | null;
  readonly encoding: number;
  readonly payload: Uint8Array;
  readonly hash: Uint8Array;
}

export const eventColumns =
  'session, seq, at, turn, opens_turn, run, type, version, actor, salt, encoding, payload, hash';

const insert = prepared(
  'insert_events',
  `insert into perdure.events (workspace, ${eventColumns})
   select $1, * from unnest($2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::boolean[], $7::text[], $8::text[],
     $9::integer[], $10::text[], $11::bytea[], $12::smallint[], $13::bytea[], $14::bytea[])`,
);

export interface EncodedEvent {
  readonly event: StoredEvent;
  readonly payload: Pick<EncodedPayload, 'encoding' | 'stored'>;
}

export const insertEvents = (workspace: WorkspaceId, rows: readonly EncodedEvent[]): pg.QueryConfig =>
  insert(
    workspace,
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
  );
