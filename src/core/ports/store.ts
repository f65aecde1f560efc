import type { EventHeader } from '../../schema/event.ts';
import type { ShownHandoff } from '../../schema/handoff.ts';
import type { Actor, MemberId, RunId, SessionId, WorkspaceId } from '../../schema/ids.ts';
import type { Holder, Status } from '../../schema/lifecycle.ts';
import type { Effects, ResultSource, ToolOutcome } from '../../schema/message.ts';
import type { Provenance } from '../../schema/state.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import type { ChargeGroupSum, ChargeQuery, ChargeSum, GroupedCharges } from './charges.ts';
import type { Account, LedgerRow, QuotaRefusal } from './ledger.ts';
import type { SessionValue, ValueConditions } from './session-value.ts';
import type { Viewer } from './viewers.ts';

/** The maximum size of a payload inside its event. A larger payload is stored as a blob that the event refers to. */
export const inlinePayloadBytes = 16 * 1024;
/** The maximum size of a payload. A larger payload is rejected. */
export const maxPayloadBytes = 16 * 1024 * 1024;

export interface SessionKey {
  readonly workspace: WorkspaceId;
  readonly session: SessionId;
}

/** Returns a text that identifies a session among those of all workspaces. Neither part contains a slash. */
export const sessionKeyName = ({ workspace, session }: SessionKey): string => `${workspace}/${session}`;

/**
 * An event to append. The store assigns seq, time, salt and hash. Its turn is `next` to open a new turn, or `current`
 * for the turn of the previous event.
 */
export interface NewEvent {
  readonly type: string;
  readonly version: number;
  readonly turn: number | 'current' | 'next';
  readonly run?: RunId | undefined;
  readonly actor: Actor;
  readonly payload: Uint8Array;
}

/** A stored payload: its bytes, only its digest after a redaction, or the reason why it cannot be read. */
export type StoredBody =
  | { readonly kind: 'bytes'; readonly salt: Uint8Array; readonly bytes: Uint8Array }
  | { readonly kind: 'redacted'; readonly digest: Uint8Array }
  | { readonly kind: 'damaged'; readonly reason: string };

/** An event in the store. `opensTurn` marks the first event of its turn. */
export interface StoredEvent extends EventHeader {
  readonly opensTurn: boolean;
  /** Set if the event came from a bundle, so that no member of this store vouches for it. Set only when read. */
  readonly imported?: true | undefined;
  readonly body: StoredBody;
  readonly hash: Uint8Array;
}

export interface Head extends SessionKey {
  readonly parent?: { readonly session: SessionId; readonly seq: number } | undefined;
  /** The root session of the family. */
  readonly root: SessionId;
  readonly seq: number;
  readonly hash: Uint8Array;
  readonly at: number;
  readonly epoch: number;
  /** Identifies the append that raised the epoch last; see `claimOf`. Empty before the first one. */
  readonly claim: string;
  readonly summary: SessionSummary;
  /** What the session counts for in quotas. Absent only if it cannot be read. */
  readonly account?: Account | undefined;
  /**
   * Whether the columns that listings use agree with the summary. Only a manual change of the database makes this
   * false.
   */
  readonly isListed: boolean;
}

/** A record of one session in a family. It can be read even if the session's log is damaged. */
export type FamilyMember = Pick<Head, 'session' | 'parent' | 'summary'>;

/**
 * The right to write as the run of a session. The epoch alone is not enough, because a store that lost commits gives
 * the same number again.
 */
export type Fence = Pick<Head, 'epoch' | 'claim'>;

export interface FencedWriter extends Fence {
  readonly kind: 'run';
  /** The seq of the writer's newest event. A head before it fences the writer, because the store lost that event. */
  readonly writtenTo?: number | undefined;
}

/** A run writer is fenced. An outside writer is not, and must not write `run.*`, `tool.*` or `model.*`. */
export type Writer = FencedWriter | { readonly kind: 'outside' };

/** The party that acts in a session: its agent, or people, perhaps only one member or those with a role. */
export interface HeldBy extends Partial<Pick<ShownHandoff, 'member' | 'role'>> {
  readonly holder: Holder;
}

export interface IdempotencyKey {
  readonly key: string;
  /** Hex SHA-256 of the request. A repeated key with another body is rejected. */
  readonly bodyHash: string;
}

export interface AppendRequest extends SessionKey {
  readonly writer: Writer;
  readonly events: readonly [NewEvent, ...NewEvent[]];
  /** The time by the writer's clock. If the newest event has a later time, the store uses that time instead. */
  readonly at: number;
  /** Set to create the session, as a root or as a fork at a point of its parent. */
  readonly creates?: { readonly parent?: { readonly session: SessionId; readonly seq: number } | undefined };
  /** A decision names the head that it was decided on. A fact omits this field and is appended at any head. */
  readonly onHead?: number;
  /**
   * The hash of the event `onHead`, in hex. It detects a store that lost its newest events and reused their numbers.
   */
  readonly onHash?: string;
  /** Appends only if the session has one of these statuses. */
  readonly whileStatus?: readonly Status[];
  /** Appends only if this party still holds the session, so that a handoff which nobody may make cannot land. */
  readonly whileHeldBy?: HeldBy;
  /** Set for the few appends that a quarantined session accepts. */
  readonly whileDamaged?: boolean;
  /**
   * Set for claim, cancel, handoff, immediate pause, rewind and quarantine. Raising the epoch fences every current run
   * writer. It needs no head: a fact of an outside writer may raise the epoch too, and its writer then holds the new one.
   */
  readonly raisesEpoch?: boolean;
  readonly key?: IdempotencyKey;
}

export interface Appended {
  readonly outcome: 'appended';
  readonly events: readonly StoredEvent[];
  /** The hash of the event before the first of these events. */
  readonly previous: Uint8Array;
  readonly head: Head;
}

export type AppendOutcome =
  | Appended
  /**
   * The idempotency key was already used with the same body. `seq` and `count` name the existing events. Nothing was
   * written.
   */
  | { readonly outcome: 'duplicate'; readonly seq: number; readonly count: number }
  | { readonly outcome: 'key-reused' }
  | { readonly outcome: 'conflict'; readonly head: number }
  | { readonly outcome: 'status'; readonly status: Status }
  /** Another party holds the session than `whileHeldBy` says. */
  | { readonly outcome: 'held' }
  | { readonly outcome: 'fenced'; readonly epoch: number }
  /** The session is quarantined, because the event `seq` is damaged. */
  | { readonly outcome: 'damaged'; readonly seq: number }
  | { readonly outcome: 'exists' }
  /** A quota of the workspace or of a member leaves no room. Nothing was written. */
  | { readonly outcome: 'quota'; readonly refusal: QuotaRefusal }
  /** The session does not exist, or the point in `creates.parent` does not. */
  | { readonly outcome: 'missing' };

export interface ReadRange {
  /** The seq to start after. 0 reads from the first event. */
  readonly after?: number;
  /** The last seq to read, inclusive. By default the head. */
  readonly upTo?: number;
  /** Only events in these ranges, which are sorted and do not overlap. */
  readonly within?: Ranges;
  readonly limit: number;
  readonly order?: 'ascending' | 'descending';
  /** Ends the page before its payloads exceed this size, but returns at least one event. */
  readonly maxBytes?: number;
}

export interface ListQuery {
  /** Only the sessions that this caller sees. Absent means all. */
  readonly viewer?: Viewer | undefined;
  readonly status?: readonly Status[] | undefined;
  /** Further conditions on the values of a session; see `valuesOf`. */
  readonly where?: ValueConditions | undefined;
  /** The time of the last change in milliseconds since 1970, both ends inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  /** Only sessions whose id begins with this after its `ses_`, or ends with it if it has 4 characters. Needs `by: 'id'`. */
  readonly idPart?: string | undefined;
  readonly limit: number;
  /** The sort order, `change` by default. `id` finds every session, even one whose row is damaged. */
  readonly by?: 'change' | 'id' | undefined;
  /** Where the previous page ended. */
  readonly after?: ListPosition | undefined;
}

export interface ListPosition {
  readonly updatedAt: number;
  readonly id: SessionId;
}

export interface ListedSessions {
  readonly sessions: readonly SessionSummary[];
  /** Where the next page continues. Absent on the last page. */
  readonly next?: ListPosition | undefined;
}

/** A fold of the log up to `seq`, in named parts. A part that equals one of an earlier snapshot is stored once. */
export interface FoldSnapshot {
  readonly seq: number;
  readonly foldVersion: number;
  readonly parts: Readonly<Record<string, Uint8Array>>;
}

export interface StoredKey extends IdempotencyKey {
  readonly seq: number;
  readonly count: number;
}

/**
 * The own events of a session, without inherited events, on their way from one store to another. A session can be
 * split into several consecutive pieces, in order.
 */
export interface SessionCopy {
  readonly session: SessionId;
  readonly parent?: { readonly session: SessionId; readonly seq: number } | undefined;
  readonly events: readonly StoredEvent[];
  readonly keys: readonly StoredKey[];
}

export interface Imported {
  /** One entry per session, in the order in which their first pieces arrived. */
  readonly sessions: readonly { readonly session: SessionId; readonly added: number }[];
}

type Ranges = readonly (readonly [from: number, to: number])[];

/** Ranges of a session's events, including inherited ones. */
export interface EventRanges {
  readonly session: SessionId;
  readonly ranges: Ranges;
}

/** Filters commits or calls. An absent field does not filter. */
interface RecordQuery {
  /** In a query of the whole workspace: only the sessions that this caller sees. Absent means all. */
  readonly viewer?: Viewer | undefined;
  /** Only within these events. Absent means the whole workspace. */
  readonly within?: EventRanges | undefined;
  readonly tool?: string | undefined;
  readonly actor?: string | undefined;
  /** The time range in milliseconds since 1970, both ends inclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
  readonly limit: number;
  /** The last record of the previous page. */
  readonly before?: { readonly at: number; readonly session: SessionId; readonly seq: number } | undefined;
}

export interface CommitQuery extends RecordQuery {
  /** Only commits that touched a path with this prefix. */
  readonly prefix?: string | undefined;
  readonly provenance?: readonly Provenance[] | undefined;
}

export interface CallQuery extends RecordQuery {
  /** `live` are the ranges of live events. The end of a call has effect only if its event is among them. */
  readonly within?: (EventRanges & { readonly live: Ranges }) | undefined;
  readonly status?: readonly CallStatus[] | undefined;
  /**
   * Only calls whose effects going back does not undo: neither confined to the session nor without effects. Includes
   * calls of which the log does not say it.
   */
  readonly lasting?: true | undefined;
}

/** Looks for an earlier call with the same tool and input in the family of a session. */
export interface RepeatQuery {
  readonly tool: string;
  readonly inputHash: string;
  /** The ranges of the session's live events. Calls among them are no earlier calls. */
  readonly live: Ranges;
}

/** Selects events that name blobs: those of a whole workspace, or only a session's own. */
export interface BlobEventQuery {
  readonly session?: SessionId | undefined;
  readonly limit: number;
  /** The last event of the previous page. */
  readonly after?: { readonly session: SessionId; readonly seq: number } | undefined;
}

/** The outcome of a tool call, or `running` for a call without an outcome. */
export type CallStatus = ToolOutcome | 'running';
export interface CallRecord {
  readonly session: SessionId;
  readonly callId: string;
  readonly tool: string;
  readonly status: CallStatus;
  readonly run?: RunId | undefined;
  readonly turn: number;
  /** The seq of the `tool.called` event. */
  readonly seq: number;
  readonly at: number;
  /** The actor that made the call. */
  readonly actor: Actor;
  readonly endedSeq?: number | undefined;
  readonly durationMs?: number | undefined;
  readonly inputHash: string;
  readonly outputHash?: string | undefined;
  /** The origin of the result, if the tool itself did not return it. */
  readonly source?: ResultSource | undefined;
  /** What running the call twice would do, as declared when it was made. Absent in logs of release 0.1.0. */
  readonly effects?: Effects | undefined;
  /** Whether all effects of the call are in the session's own files and state. */
  readonly confined?: true | undefined;
}

/** The statuses of a call that took effect, or may have. A call that threw is known to have failed. */
export const mayHaveTakenEffect = [
  'ok',
  'interrupted',
  'cancelled',
  'timeout',
  'running',
] as const satisfies CallStatus[];

/** Called with a changed session, and the seq of its newest event. `at` is the time of that event, where it is known. */
export type WakeForSession = (session: SessionId, seq: number, at?: number) => void;

/**
 * The store of logs. Every call concerns one workspace and has no access to others. The store throws failures as
 * PerdureError with a STORE_ code, and returns outcomes that a caller must handle. The store does not validate events.
 * It reads a session's status only from the summary. After bytes were passed to a call, neither the caller nor the
 * store may change them. A reader may change bytes that a call returned.
 */
export interface Store {
  /**
   * Appends events atomically and durably. Appends to many sessions may share one transaction, but one rejected append
   * does not make the others fail. Appends to one session are applied in the order in which this store received them.
   */
  append(request: AppendRequest): Promise<AppendOutcome>;
  head(key: SessionKey): Promise<Head | undefined>;
  /**
   * Returns a page of summaries. Sorted by change: newest first, and for equal times the higher id first. Sorted by
   * id: lowest first. Reads an index, and a bounded number of its rows: with several conditions, a page can be short
   * although there is a next one.
   */
  list(workspace: WorkspaceId, query: ListQuery): Promise<ListedSessions>;
  /** Returns the values by which `list` finds the session. */
  values(key: SessionKey): Promise<readonly SessionValue[]>;
  /** Reads the events of a session as one sequence that starts at 1, including events inherited from its ancestors. */
  read(key: SessionKey, range: ReadRange): Promise<readonly StoredEvent[]>;
  /** Returns the first event of each turn numbered `from` or higher, in order, including inherited events. */
  turnStarts(
    key: SessionKey,
    range: { readonly from: number; readonly limit: number },
  ): Promise<readonly { readonly turn: number; readonly seq: number }[]>;
  /** Returns all sessions of the family, oldest first, but each session after its parent. */
  family(key: SessionKey): Promise<readonly FamilyMember[]>;
  /**
   * Stores a snapshot. Snapshots are a cache: one may be lost or written twice. The content of a snapshot depends only
   * on the seq and the fold version.
   */
  putSnapshot(key: SessionKey, snapshot: FoldSnapshot): Promise<void>;
  /** Returns the newest snapshot at or before `seq`, of this session or of the ancestor that owns the event. */
  snapshot(
    key: SessionKey,
    at: { readonly seq: number; readonly foldVersion: number },
  ): Promise<FoldSnapshot | undefined>;
  /** Returns all idempotency keys of the session, or only the named one. */
  keys(key: SessionKey, only?: string): Promise<readonly StoredKey[]>;
  /**
   * Imports sessions with their hashes, parents before children, in one transaction. If a session exists already, the
   * copied events must equal its events, and further events are added. Any difference throws BUNDLE_CONFLICT and
   * changes nothing. With `owner`, new sessions belong to that member and are visible in the workspace, whatever the
   * copies say. A fork of a session of this store inherits from it instead.
   */
  importCopies(workspace: WorkspaceId, copies: AsyncIterable<SessionCopy>, owner?: MemberId): Promise<Imported>;
  /** Returns events of type `state.committed`, newest first and without duplicates. Reads an index, not the log. */
  findCommits(workspace: WorkspaceId, query: CommitQuery): Promise<readonly StoredEvent[]>;
  /**
   * Returns tool calls, newest first. Within a session, a call is reported as `interrupted` if it ended outside
   * `live`, or if it is inherited and has no end.
   */
  findCalls(workspace: WorkspaceId, query: CallQuery): Promise<readonly CallRecord[]>;
  /** Returns the sum of the charges that match. Reads an index, not the log. */
  sumCharges(workspace: WorkspaceId, query: ChargeQuery): Promise<ChargeSum>;
  /**
   * Returns a page of groups of charges, newest or lowest key first (`isNewestFirst`). Only groups of runs and of
   * sessions include the charges of subagents.
   */
  groupCharges(workspace: WorkspaceId, query: GroupedCharges): Promise<readonly ChargeGroupSum[]>;
  /**
   * Returns the rows of the ledger for the meters that count what exists now, and for these periods. A store keeps a
   * ledger while the workspace has a record of the kind `quota`. Writing such a record recounts all rows.
   */
  ledger(workspace: WorkspaceId, periods: readonly string[]): Promise<readonly LedgerRow[]>;
  /**
   * Returns the newest lasting call of the session's family, live or not, with this tool and input that took effect or
   * may have, outside the session's live events. Reads an index, not the log.
   */
  findRepeated(key: SessionKey, query: RepeatQuery): Promise<CallRecord | undefined>;
  /**
   * Returns events of the types in `blobEventTypes`, each in the session that owns it, sorted by session and seq.
   * Reads an index, not the log.
   */
  findBlobEvents(workspace: WorkspaceId, query: BlobEventQuery): Promise<readonly StoredEvent[]>;
  /**
   * Rebuilds the data of findCommits, findCalls, sumCharges, ledger, list and turnStarts from the log, corrects heads,
   * and drops snapshots, in one transaction. Returns the number of events read.
   */
  rebuildProjections(workspace: WorkspaceId): Promise<number>;
  /**
   * Calls `wake` after a commit of any process has touched the session. A call is only a hint: it may be late,
   * repeated, or without new events. Returns a function that ends the watch.
   */
  watch(key: SessionKey, wake: (seq?: number) => void): () => void;
  /**
   * Like `watch`, for all sessions of the workspace. `wake` receives the session, and the seq and time of its newest
   * event.
   */
  watchWorkspace(workspace: WorkspaceId, wake: WakeForSession): () => void;
  /** Waits for calls in flight, then closes the store. Idempotent. Later calls fail with RUNTIME_CLOSED. */
  close(): Promise<void>;
}
