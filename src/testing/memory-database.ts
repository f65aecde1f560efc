import type { Charge } from '../core/ports/charges.ts';
import type { LedgerRow } from '../core/ports/ledger.ts';
import type { Presence } from '../core/ports/queue.ts';
import type { StoredRecord } from '../core/ports/records.ts';
import {
  type CallRecord,
  type Head,
  inlinePayloadBytes,
  type SessionKey,
  type StoredBody,
  type StoredEvent,
  type StoredKey,
  type WakeForSession,
} from '../core/ports/store.ts';
import { isSeenBy, type Viewer } from '../core/ports/viewers.ts';
import { blobHash } from '../core/session/events/chain.ts';
import type { CommitPath } from '../core/session/projections.ts';
import type { SessionId, WorkspaceId } from '../schema/ids.ts';
import { type LineageLink, type Segment, segmentsOf } from '../stores/log/lineage.ts';
import type { QueuedWork } from '../stores/queue/queued-work.ts';

/** Always copies, unlike `slice` of a Buffer, which returns a view. */
export const copyBytes = (bytes: Uint8Array): Uint8Array => new Uint8Array(bytes);

export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

export interface MemorySnapshot {
  readonly seq: number;
  readonly foldVersion: number;
  /** Part names, with the hashes of their bytes. */
  readonly parts: Readonly<Record<string, string>>;
}

export type MemoryPath = CommitPath & Pick<StoredEvent, 'session' | 'seq' | 'turn' | 'at' | 'actor'>;

export interface MemorySession {
  head: Head;
  /** Events up to this seq came from an import. */
  importedTo: number;
  /** Own events by seq, without inherited ones. */
  readonly events: Map<number, StoredEvent>;
  readonly keys: Map<string, StoredKey>;
  readonly snapshots: MemorySnapshot[];
  readonly paths: MemoryPath[];
  readonly calls: CallRecord[];
  readonly charges: Charge[];
}

export interface MemoryWorker {
  readonly presence: Presence;
  readonly startedAt: number;
  readonly seenAt: number;
  readonly lostAt: number;
}

export interface MemoryWorkspace {
  readonly sessions: Map<SessionId, MemorySession>;
  readonly work: Map<SessionId, QueuedWork>;
  readonly blobs: Map<string, Uint8Array>;
  /** When each blob was last put or requested. */
  readonly blobTimes: Map<string, number>;
  /** The blobs that count for quotas, and the member for whom each does. */
  readonly countedBlobs: Map<string, string>;
  readonly parts: Map<string, Uint8Array>;
  /** By kind and id. */
  readonly records: Map<string, StoredRecord>;
  /** By the names of their keys. Empty while there are no quotas. */
  readonly ledger: Map<string, LedgerRow>;
}

/** The state that stores on the same memory share, as processes share a file. */
export interface MemoryDatabase {
  readonly workspaces: Map<WorkspaceId, MemoryWorkspace>;
  readonly workers: Map<string, MemoryWorker>;
  readonly watchers: Set<{ readonly key: SessionKey; readonly wake: (seq?: number) => void }>;
  readonly workWatchers: Set<{ readonly workspace: WorkspaceId | undefined; readonly wake: () => void }>;
  readonly noteHearers: Set<{ readonly store: object; readonly hear: (key: SessionKey, text: string) => void }>;
  readonly hearers: Set<{
    readonly workspace: WorkspaceId;
    readonly wake: WakeForSession;
  }>;
}

export const newMemoryDatabase = (): MemoryDatabase => ({
  workspaces: new Map(),
  workers: new Map(),
  watchers: new Set(),
  workWatchers: new Set(),
  noteHearers: new Set(),
  hearers: new Set(),
});

const newWorkspace = (): MemoryWorkspace => ({
  sessions: new Map(),
  work: new Map(),
  blobs: new Map(),
  blobTimes: new Map(),
  countedBlobs: new Map(),
  parts: new Map(),
  records: new Map(),
  ledger: new Map(),
});

export const workspaceOf = ({ workspaces }: MemoryDatabase, name: WorkspaceId): MemoryWorkspace => {
  const workspace = workspaces.get(name) ?? newWorkspace();
  workspaces.set(name, workspace);
  return workspace;
};

/**
 * A copy to work on, so that a failure in the middle leaves nothing behind. Events never change, so both share them.
 */
export const copyWorkspace = ({
  sessions,
  work,
  blobs,
  blobTimes,
  countedBlobs,
  parts,
  records,
  ledger,
}: MemoryWorkspace): MemoryWorkspace => ({
  sessions: new Map(
    [...sessions].map(([id, { head, importedTo, events, keys, snapshots, paths, calls, charges }]) => [
      id,
      {
        head,
        importedTo,
        events: new Map(events),
        keys: new Map(keys),
        snapshots: [...snapshots],
        paths: [...paths],
        calls: [...calls],
        charges: [...charges],
      },
    ]),
  ),
  work: new Map(work),
  blobs: new Map(blobs),
  blobTimes: new Map(blobTimes),
  countedBlobs: new Map(countedBlobs),
  parts: new Map(parts),
  records: new Map(records),
  ledger: new Map(ledger),
});

export const putPiece = (pieces: Map<string, Uint8Array>, bytes: Uint8Array): string => {
  const hash = hexOf(blobHash(bytes));
  pieces.set(hash, copyBytes(bytes));
  return hash;
};

/** The session's segments, its own first. */
export const segmentsIn = ({ sessions }: MemoryWorkspace, id: SessionId): readonly Segment[] => {
  const lineage: LineageLink[] = [];
  const newest = sessions.get(id);
  for (let session = newest; session; ) {
    const { parent } = session.head;
    lineage.push({ session: session.head.session, forkedAt: parent?.seq ?? 0 });
    session = parent && sessions.get(parent.session);
  }
  return newest ? segmentsOf(lineage, newest.head.seq) : [];
};

/** The event at a seq of the session's sequence, in whichever session it is stored. */
export const eventAt = (workspace: MemoryWorkspace, id: SessionId, seq: number): StoredEvent | undefined => {
  const segment = segmentsIn(workspace, id).find(({ from, to }) => from <= seq && seq <= to);
  return segment && workspace.sessions.get(segment.session)?.events.get(seq);
};

export const isSpilled = (body: StoredBody): body is Extract<StoredBody, { kind: 'bytes' }> =>
  body.kind === 'bytes' && body.bytes.length > inlinePayloadBytes;

const copyBody = (body: StoredBody): StoredBody => {
  if (body.kind === 'bytes') return { ...body, salt: copyBytes(body.salt), bytes: copyBytes(body.bytes) };
  return body.kind === 'redacted' ? { ...body, digest: copyBytes(body.digest) } : body;
};

/** A copy for the caller, so that changes to it do not affect the store. */
export const copyEvent = (event: StoredEvent): StoredEvent => ({
  ...event,
  body: copyBody(event.body),
  hash: copyBytes(event.hash),
});

export const headOf = ({ head }: { readonly head: Head }): Head => ({ ...head, hash: copyBytes(head.hash) });

/** The event as a store with separate blobs would return it. */
export const eventOf = ({ blobs }: MemoryWorkspace, event: StoredEvent): StoredEvent => {
  if (!isSpilled(event.body)) return copyEvent(event);
  const kept = blobs.get(hexOf(blobHash(event.body.bytes)));
  if (kept && Buffer.from(kept).equals(event.body.bytes)) return copyEvent(event);
  return { ...event, body: { kind: 'damaged', reason: 'the blob that holds its payload is missing or damaged' } };
};

/** The sessions that a query of the whole workspace may return. */
export const seenIn = (
  { sessions }: MemoryWorkspace,
  { within, viewer }: { readonly within?: object | undefined; readonly viewer?: Viewer | undefined },
): readonly MemorySession[] =>
  [...sessions.values()].filter(({ head }) => within || !viewer || isSeenBy(head.summary, viewer));
