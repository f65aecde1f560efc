import type { EventHeader } from '../../schema/event.ts';
import type { Actor, RunId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Status } from '../../schema/lifecycle.ts';
import type { ToolOutcome } from '../../schema/message.ts';
import type { Provenance } from '../../schema/state.ts';
import type { SessionSummary } from '../../schema/summary.ts';

/** A payload over this many bytes is kept as a blob and the event refers to it. */
export const inlinePayloadBytes = 16 * 1024;
/** A payload over this many bytes is refused. */
export const maxPayloadBytes = 16 * 1024 * 1024;

export interface SessionKey {
  readonly workspace: WorkspaceId;
  readonly session: SessionId;
}

/** One text for each session of all workspaces: neither part has a slash. */
export const sessionKeyName = ({ workspace, session }: SessionKey): string => `${workspace}/${session}`;

/** An event on its way in: the store gives it seq, time, salt and hash. `next` opens a turn, `current` is that of the event before. */
export interface NewEvent {
  readonly type: string;
  readonly version: number;
  readonly turn: number | 'current' | 'next';
  readonly run?: RunId | undefined;
  readonly actor: Actor;
  readonly payload: Uint8Array;
}

/** What is left of a payload: its bytes, or after a redaction its digest, or the reason why it cannot be read. */
export type StoredBody =
  | { readonly kind: 'bytes'; readonly salt: Uint8Array; readonly bytes: Uint8Array }
  | { readonly kind: 'redacted'; readonly digest: Uint8Array }
  | { readonly kind: 'damaged'; readonly reason: string };

/** An event as kept. `opensTurn` marks the first of its turn. */
export interface StoredEvent extends EventHeader {
  readonly opensTurn: boolean;
  readonly body: StoredBody;
  readonly hash: Uint8Array;
}

export interface Head extends SessionKey {
  readonly parent?: { readonly session: SessionId; readonly seq: number } | undefined;
  /** The first session of the family. */
  readonly root: SessionId;
  readonly seq: number;
  readonly hash: Uint8Array;
  readonly at: number;
  readonly epoch: number;
  readonly summary: SessionSummary;
  /** Whether listings go by what the summary says: only a change by hand can make that false. */
  readonly isListed: boolean;
}

/** What a family shows of each of its sessions, also of one that is damaged. */
export type FamilyMember = Pick<Head, 'session' | 'parent' | 'summary'>;

/** A run writer is fenced by its epoch; an outside writer is not, and may write none of `run.*`, `tool.*` and `model.*`. */
export type Writer = { readonly kind: 'run'; readonly epoch: number } | { readonly kind: 'outside' };

export interface IdempotencyKey {
  readonly key: string;
  /** Hex SHA-256 of what the caller asked for: the same key with another body is refused. */
  readonly bodyHash: string;
}

export interface AppendRequest extends SessionKey {
  readonly writer: Writer;
  readonly events: readonly [NewEvent, ...NewEvent[]];
  /** The writer's clock; the store lifts it to the head's where that is later. */
  readonly at: number;
  /** Makes the session, as a root or as a child of a point of its parent. */
  readonly creates?: { readonly parent?: { readonly session: SessionId; readonly seq: number } | undefined };
  /** A decision names the head it was made on. A fact leaves it out and lands at any head. */
  readonly onHead?: number;
  /** The hash of that head, in hex: a store that lost commits may have another event of that number. */
  readonly onHash?: string;
  /** The append lands only while the session is in one of these. */
  readonly whileStatus?: readonly Status[];
  /** Claim, cancel, handoff and rewind: fences every run writer there is. */
  readonly raisesEpoch?: boolean;
  readonly key?: IdempotencyKey;
}

export interface Appended {
  readonly outcome: 'appended';
  readonly events: readonly StoredEvent[];
  /** The hash that the first of them goes on from. */
  readonly previous: Uint8Array;
  readonly head: Head;
}

export type AppendOutcome =
  | Appended
  /** The key was used before for the same body: this is where the events stand. Nothing was written. */
  | { readonly outcome: 'duplicate'; readonly seq: number; readonly count: number }
  | { readonly outcome: 'key-reused' }
  | { readonly outcome: 'conflict'; readonly head: number }
  | { readonly outcome: 'status'; readonly status: Status }
  | { readonly outcome: 'fenced'; readonly epoch: number }
  | { readonly outcome: 'exists' }
  /** No such session, or for `creates.parent` no such point. */
  | { readonly outcome: 'missing' };

export interface ReadRange {
  /** Exclusive; 0 reads from the first event. */
  readonly after?: number;
  /** Inclusive; defaults to the head. */
  readonly upTo?: number;
  readonly limit: number;
  readonly order?: 'ascending' | 'descending';
  /** Stops before the page's payloads pass this, but gives at least one event. */
  readonly maxBytes?: number;
}

export interface ListQuery {
  readonly status?: readonly Status[] | undefined;
  readonly limit: number;
  /** `change` without it. `id` goes by what nobody can have changed: it leaves no session out, whatever else its row says. */
  readonly by?: 'change' | 'id' | undefined;
  /** The last summary of the page before. */
  readonly after?: { readonly updatedAt: number; readonly id: SessionId } | undefined;
}

/** A fold of the log up to `seq`, in named parts. Parts that did not change since an earlier snapshot are kept once. */
export interface FoldSnapshot {
  readonly seq: number;
  readonly foldVersion: number;
  readonly parts: Readonly<Record<string, Uint8Array>>;
}

export interface StoredKey extends IdempotencyKey {
  readonly seq: number;
  readonly count: number;
}

/** Own events of a session, without those it inherits, as they travel between stores: in order, in one piece or several in a row. */
export interface SessionCopy {
  readonly session: SessionId;
  readonly parent?: { readonly session: SessionId; readonly seq: number } | undefined;
  readonly events: readonly StoredEvent[];
  readonly keys: readonly StoredKey[];
}

export interface Imported {
  /** Each session once, in the order of its first piece. */
  readonly sessions: readonly { readonly session: SessionId; readonly added: number }[];
}

type Ranges = readonly (readonly [from: number, to: number])[];

/** These events of a session, inherited ones included. */
export interface EventRanges {
  readonly session: SessionId;
  readonly ranges: Ranges;
}

/** Which commits or calls; what is left out does not narrow. */
interface RecordQuery {
  /** Only these; without it the whole workspace. */
  readonly within?: EventRanges | undefined;
  readonly tool?: string | undefined;
  readonly actor?: string | undefined;
  /** Milliseconds since 1970, both inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
  /** The last record of the page before. */
  readonly before?: { readonly at: number; readonly session: SessionId; readonly seq: number } | undefined;
}

export interface CommitQuery extends RecordQuery {
  /** Only those with a path that begins so. */
  readonly prefix?: string | undefined;
  readonly provenance?: readonly Provenance[] | undefined;
}

export interface CallQuery extends RecordQuery {
  /** `live` are the events that a call may have its end among, wherever it is looked for. */
  readonly within?: (EventRanges & { readonly live: Ranges }) | undefined;
  readonly status?: readonly CallStatus[] | undefined;
}

/** Which of the events that name blobs: all of a workspace, or the own ones of one session. */
export interface BlobEventQuery {
  readonly session?: SessionId | undefined;
  readonly limit: number;
  /** The last of the page before. */
  readonly after?: { readonly session: SessionId; readonly seq: number } | undefined;
}

/** A tool call as its events tell it. `running` has no outcome yet. */
export type CallStatus = ToolOutcome | 'running';
export interface CallRecord {
  readonly session: SessionId;
  readonly callId: string;
  readonly tool: string;
  readonly status: CallStatus;
  readonly run?: RunId | undefined;
  readonly turn: number;
  /** Of the event that records the call. */
  readonly seq: number;
  readonly at: number;
  /** Who made the call. */
  readonly actor: Actor;
  readonly endedSeq?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly inputHash: string;
  readonly outputHash?: string | undefined;
}

/**
 * Where logs live. Every call is about one workspace and sees no other. Failures are thrown as PerdureError with a STORE_ code;
 * alternatives that a caller decides on are returned. The store keeps what it is given: it knows no lifecycle but the summary's.
 * Bytes that a call is given are changed no more, neither by the caller nor by the store; bytes that are read are the reader's.
 */
export interface Store {
  /**
   * All or nothing, durable when it returns. Appends of many sessions may share one transaction; none fails another. Those of one session
   * land in the order in which they were sent through this store.
   */
  append(request: AppendRequest): Promise<AppendOutcome>;
  head(key: SessionKey): Promise<Head | undefined>;
  /** Newest change first, and of the same moment the higher id first; or the lowest id first. */
  list(workspace: WorkspaceId, query: ListQuery): Promise<readonly SessionSummary[]>;
  /** Events of the session as one sequence from 1, those inherited from its ancestors included. */
  read(key: SessionKey, range: ReadRange): Promise<readonly StoredEvent[]>;
  /** First events of the turns numbered `from` or higher, in order, inherited ones included. */
  turnStarts(
    key: SessionKey,
    range: { readonly from: number; readonly limit: number },
  ): Promise<readonly { readonly turn: number; readonly seq: number }[]>;
  /** All sessions of the family, the oldest first, but none before its parent. */
  family(key: SessionKey): Promise<readonly FamilyMember[]>;
  /** A cache: may be lost, may be written twice; for a given seq and fold version the content is always the same. */
  putSnapshot(key: SessionKey, snapshot: FoldSnapshot): Promise<void>;
  /** The newest at or before `seq`, of this session or of the ancestor that the event came from. */
  snapshot(
    key: SessionKey,
    at: { readonly seq: number; readonly foldVersion: number },
  ): Promise<FoldSnapshot | undefined>;
  /** Those used in the session, or only the one named. */
  keys(key: SessionKey, only?: string): Promise<readonly StoredKey[]>;
  /**
   * Takes over sessions with their hashes, parents before children, in one transaction. A session that is here already must agree
   * event by event; what goes beyond is added. Anything that disagrees throws BUNDLE_CONFLICT and changes nothing.
   */
  importCopies(workspace: WorkspaceId, copies: AsyncIterable<SessionCopy>): Promise<Imported>;
  /** Events of type `state.committed`, newest first, each once; from an index, not from the log. */
  findCommits(workspace: WorkspaceId, query: CommitQuery): Promise<readonly StoredEvent[]>;
  /** Newest call first. Within a session, one that has its end outside of `live`, and an inherited one without an end, is `interrupted`. */
  findCalls(workspace: WorkspaceId, query: CallQuery): Promise<readonly CallRecord[]>;
  /** Events of the `blobEventTypes`, each of the session that owns it, in the order of sessions and seqs; from an index, not from the log. */
  findBlobEvents(workspace: WorkspaceId, query: BlobEventQuery): Promise<readonly StoredEvent[]>;
  /**
   * Makes what findCommits, findCalls, list and turnStarts read anew from the log, puts heads right where it tells and drops snapshots, in
   * one transaction; returns how many events were read.
   */
  rebuildProjections(workspace: WorkspaceId): Promise<number>;
  /** Calls `wake` after commits that touch the session, from any process. Only a hint: may come late, twice or without news. */
  watch(key: SessionKey, wake: (seq?: number) => void): () => void;
  /** As `watch`, for all sessions of the workspace: which got events, and the newest of them. */
  watchWorkspace(workspace: WorkspaceId, wake: (session: SessionId, seq: number) => void): () => void;
  /** Waits for what is under way; idempotent. Later calls fail with RUNTIME_CLOSED. */
  close(): Promise<void>;
}
