import type { DatabaseSync } from 'node:sqlite';
import type { ReadRange, SessionKey, StoredEvent } from '../../../core/ports/store.ts';
import type { Actor, RunId, WorkspaceId } from '../../../schema/ids.ts';
import { payloadEncoding, unpackedBytes } from '../../codec/payload-codec.ts';
import { bodyOf } from '../../codec/stored-body.ts';
import { type Segment, segmentsOf, segmentsToRead } from '../../log/lineage.ts';
import { eachRow } from '../file/each-row.ts';
import type { Blobs } from './blobs.ts';
import { type EventRow, eventColumns, isImported } from './event-rows.ts';
import type { Sessions } from './sessions.ts';

export interface EventReader {
  read(key: SessionKey, range: ReadRange): readonly StoredEvent[];
  /** Reads only these ranges, in the given order. */
  readSegments(workspace: WorkspaceId, segments: readonly Segment[], range: ReadRange): readonly StoredEvent[];
  turnStarts(
    key: SessionKey,
    range: { readonly from: number; readonly limit: number },
  ): readonly { readonly turn: number; readonly seq: number }[];
}

const end = Number.MAX_SAFE_INTEGER;

const rowBytes = (blobs: Blobs, workspace: WorkspaceId, row: EventRow): number => {
  const [, , , , , , , , , , , encoding, payload] = row;
  return unpackedBytes(encoding, payload, () => blobs.sizeOf(workspace, payload));
};

export const eventOf = (blobs: Blobs, workspace: WorkspaceId, row: EventRow): StoredEvent => {
  const [session, seq, at, turn, opensTurn, run, type, version, actor, salt, hash, encoding, payload, imported] = row;
  const blob = encoding === payloadEncoding.blob ? blobs.read(workspace, payload) : undefined;
  return {
    session,
    seq,
    at,
    turn,
    run: (run as RunId | null) ?? undefined,
    type,
    version,
    actor: actor as Actor,
    opensTurn: opensTurn === 1,
    body: bodyOf({ at, turn, version, encoding, salt, payload }, blob),
    hash,
    ...(imported === 1 && { imported: true }),
  };
};

export const openEventReader = (db: DatabaseSync, sessions: Sessions, blobs: Blobs): EventReader => {
  const page = (order: 'ASC' | 'DESC') => {
    const imported = isImported({ workspace: '?1', session: '?2' });
    const statement = db.prepare(`SELECT ${eventColumns}, ${imported} FROM events
      WHERE workspace = ?1 AND session = ?2 AND seq BETWEEN ?3 AND ?4 ORDER BY seq ${order} LIMIT ?5`);
    statement.setReturnArrays(true);
    return statement;
  };
  const pages = { ascending: page('ASC'), descending: page('DESC') };
  const turns = db.prepare(`SELECT turn, seq FROM events WHERE workspace = ? AND session = ? AND opens_turn = 1
    AND turn >= ? AND seq <= ? ORDER BY turn LIMIT ?`);

  const readSegments: EventReader['readSegments'] = (workspace, segments, range) => {
    const { limit, order = 'ascending', maxBytes = end } = range;
    const events: StoredEvent[] = [];
    let bytes = 0;
    for (const { session, from, to } of segments) {
      for (const row of eachRow<EventRow>(pages[order], workspace, session, from, to, limit - events.length)) {
        bytes += rowBytes(blobs, workspace, row);
        if (bytes > maxBytes && events.length > 0) return events;
        events.push(eventOf(blobs, workspace, row));
      }
      if (events.length >= limit) break;
    }
    return events;
  };

  return {
    readSegments,
    read: (key, range) => {
      const { upTo = end, order } = range;
      const newestFirst = segmentsToRead(segmentsOf(sessions.lineage(key) ?? [], upTo), range);
      return readSegments(key.workspace, order === 'descending' ? newestFirst : newestFirst.toReversed(), range);
    },
    turnStarts: (key, { from, limit }) => {
      const starts: { turn: number; seq: number }[] = [];
      for (const { session, to } of segmentsOf(sessions.lineage(key) ?? [], end).toReversed()) {
        const rows = turns.all(key.workspace, session, from, to, limit - starts.length);
        starts.push(...(rows as { turn: number; seq: number }[]));
        if (starts.length >= limit) break;
      }
      return starts;
    },
  };
};
