import { KeyedMutex } from '../../concurrency/mutex.ts';
import { deepFreeze } from '../../schema/deep-freeze.ts';
import { isPerdureError, PerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import { jsonSteps } from '../../schema/json-steps.ts';
import { eventLoop } from '../ports/event-loop.ts';
import {
  type Appended,
  type FoldSnapshot,
  type Head,
  type SessionKey,
  type Store,
  type StoredEvent,
  sessionKeyName,
} from '../ports/store.ts';
import { linkProblem } from '../session/events/chain.ts';
import { OwnCopies } from '../session/events/copy-record.ts';
import { decodeEvent, decodeJson, eventDamaged } from '../session/events/event-codec.ts';
import { fold, foldVersion, type SessionFold, sound } from '../session/fold.ts';
import { FoldCache } from './fold-cache.ts';
import { type NewestEvents, readForward } from './read-log.ts';
import { type Regression, type SeenEvent, SeenHeads } from './seen-heads.ts';

/**
 * How often snapshots are stored. Opening a session folds the tail after its last snapshot, which stays below both
 * limits.
 */
export interface SnapshotPolicy {
  /** A snapshot is due after this many events since the last one. */
  readonly everyEvents: number;
  /** A snapshot is due after this many bytes of payloads since the last one. */
  readonly everyBytes: number;
}

export const defaultSnapshotPolicy: SnapshotPolicy = { everyEvents: 256, everyBytes: 1024 * 1024 };

const cached = { sessions: 1000, bytes: 64 * 1024 * 1024 };

/** An append that was stored, with its events as they are in the log. */
export interface Landed {
  readonly outcome: Appended;
  readonly events: readonly SessionEvent[];
  readonly bytes: number;
}

export interface Counted {
  readonly state: SessionFold;
  /** The number of events since the last snapshot. */
  readonly events: number;
  readonly bytes: number;
  /** About how large the fold is as JSON: its last snapshot, and the payloads since. */
  readonly size: number;
  /** The fold before the first event of the newest turn, if it was folded here. */
  readonly began?: SessionFold | undefined;
}

/** Folds one more event and counts it. */
const counted = (
  before: Counted | undefined,
  event: SessionEvent,
  bytes: number,
  target?: SessionFold,
  copies?: OwnCopies,
): Counted => {
  const state = fold(before?.state, event, target, copies);
  const isNewTurn = before !== undefined && state.lastTurn > before.state.lastTurn;
  return {
    state,
    events: (before?.events ?? 0) + 1,
    bytes: (before?.bytes ?? 0) + bytes,
    size: (before?.size ?? 0) + bytes,
    began: isNewTurn ? before.state : before?.began,
  };
};

const statePart = 'state/';

/** Encodes a value as JSON bytes, in steps. */
function* encodeSteps(value: unknown): Generator<void, Uint8Array, void> {
  const pieces: Buffer[] = [];
  for (const piece of jsonSteps(value)) {
    pieces.push(Buffer.from(piece));
    yield;
  }
  return Buffer.concat(pieces);
}

function* foldSteps({ state, ...rest }: SessionFold): Generator<void, FoldSnapshot, void> {
  const parts: Record<string, Uint8Array> = {};
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) parts[name] = yield* encodeSteps(value);
  for (const [name, value] of Object.entries(state)) parts[statePart + name] = yield* encodeSteps(value);
  return { seq: rest.seq, foldVersion, parts };
}

/**
 * Encodes a fold in parts and in slices. The store keeps an unchanged part only once. The state is split by collection,
 * because the state is the part that grows.
 */
export const encodeFold = (fold: SessionFold): Promise<FoldSnapshot> => eventLoop.drain(foldSteps(fold));

const sizeOf = ({ parts }: FoldSnapshot): number => Object.values(parts).reduce((sum, { length }) => sum + length, 0);

function* freezeSteps(collection: unknown): Generator<void, void, void> {
  for (const entry of Object.values(collection ?? {})) yield void deepFreeze(entry);
  deepFreeze(collection);
}

/** Decodes a snapshot in slices, each part for itself, because a part cannot be divided. */
const decodeFold = async ({ parts }: FoldSnapshot): Promise<SessionFold> => {
  const rest: Record<string, unknown> = {};
  const state: Record<string, unknown> = {};
  for (const [name, bytes] of Object.entries(parts)) {
    const due = eventLoop.slice();
    if (due) await due;
    const value = decodeJson(bytes);
    if (!name.startsWith(statePart)) rest[name] = value;
    else {
      await eventLoop.drain(freezeSteps(value));
      state[name.slice(statePart.length)] = value;
    }
  }
  return { ...rest, state: deepFreeze(state) } as unknown as SessionFold;
};

/**
 * Decodes a snapshot. Returns undefined if the snapshot is damaged. Ignoring it loses nothing, because a snapshot is a
 * cache.
 */
export const readableFold = async (snapshot: FoldSnapshot): Promise<SessionFold | undefined> => {
  try {
    const fold = await decodeFold(snapshot);
    return fold.seq === snapshot.seq ? fold : undefined;
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof TypeError || error instanceof RangeError) return undefined;
    throw error;
  }
};

/** The seq that a rewind goes back to. Throws if that seq is not before the rewind itself. */
const rewindPoint = (event: SessionEvent<'session.rewound'>): number => {
  const { to } = event.payload;
  if (to >= event.seq) throw eventDamaged(event, `it rewinds to event ${to}, which is not before it`);
  return to;
};

/** The seq whose fold an event continues from, if that is not the previous event. */
export const targetOf = (event: SessionEvent): number | undefined => {
  if (event.type === 'session.rewound') return rewindPoint(event);
  if (event.type !== 'session.quarantined' || event.payload.seq === 1) return undefined;
  if (event.payload.seq >= event.seq) throw eventDamaged(event, 'it names a damaged event that is not before it');
  return event.payload.seq - 1;
};

export const sessionNotFound = ({ workspace, session }: SessionKey): PerdureError =>
  new PerdureError(
    'SESSION_NOT_FOUND',
    `there is no session ${session} in workspace ${workspace}: \`perdure ls\` lists the sessions`,
    { details: { workspace, session } },
  );

const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString('hex');

/**
 * Whether the event directly follows the last event of the fold. Compares the hash too, because another event could
 * have the same seq.
 */
const goesOnFrom = ({ seq, hash }: SessionFold, event: StoredEvent): boolean =>
  linkProblem({ seq, hash: Buffer.from(hash, 'hex') }, event) === undefined;

interface FoldOptions {
  /** A fold that was kept in memory. The store may have lost its newest events. */
  readonly base?: Counted | undefined;
  readonly newest?: Promise<NewestEvents> | undefined;
  /** The folds that events went back to, by seq. */
  readonly targets?: Map<number, SessionFold> | undefined;
}

const bodyBytes = (event: StoredEvent): number => (event.body.kind === 'bytes' ? event.body.bytes.length : 0);

/**
 * Folds sessions from the newest snapshot and the tail after it, and takes snapshots on the way. Keeps the newest fold
 * of each session in use. A fold in memory may be older than the store, and the conditions of an append detect that.
 */
export class SessionFolds {
  readonly #store: Store;
  readonly #policy: SnapshotPolicy;
  readonly #report: (problem: unknown) => void;
  readonly #newest = new FoldCache<Counted>(cached);
  readonly #writing = new Set<Promise<void>>();
  readonly #deciding = new KeyedMutex<string>();
  readonly #seen: SeenHeads;

  constructor(
    store: Store,
    policy: SnapshotPolicy,
    report: (problem: unknown) => void,
    onRegression: (regression: Regression) => Promise<void> = async () => undefined,
  ) {
    this.#store = store;
    this.#policy = policy;
    this.#report = report;
    this.#seen = new SeenHeads(store, (regression) => {
      this.forget(regression.key);
      return onRegression(regression);
    });
  }

  /** Returns the newest fold that this process knows. Reads nothing if the session is in use. */
  async recent(key: SessionKey): Promise<SessionFold> {
    return sound(await this.recentOutline(key));
  }

  /** Returns the fold at the head, as the store has it now. */
  async head(key: SessionKey): Promise<SessionFold> {
    return sound(await this.outline(key));
  }

  /** Like `recent`, but also works if a commit is damaged. In that case everything except the state is reliable. */
  async recentOutline(key: SessionKey): Promise<SessionFold> {
    return this.#newest.get(sessionKeyName(key))?.state ?? this.outline(key);
  }

  /** Like `head`, but also works if a commit is damaged. */
  async outline(key: SessionKey): Promise<SessionFold> {
    const head = await this.#store.head(key);
    if (!head) throw sessionNotFound(key);
    return this.#outlineAt(head);
  }

  /**
   * Returns the fold at a head that was just read. `newest` are the newest events up to that head, if the caller reads
   * them anyway.
   */
  async atHead(head: Head, newest?: Promise<NewestEvents>): Promise<SessionFold> {
    return sound(await this.#outlineAt(head, newest));
  }

  async #outlineAt(head: Head, newest?: Promise<NewestEvents>): Promise<SessionFold> {
    const key: SessionKey = { workspace: head.workspace, session: head.session };
    const known = this.#newest.get(sessionKeyName(key));
    if (known?.state.seq === head.seq && known.state.hash === hexOf(head.hash)) return known.state;
    if (this.#seen.contradicts(key, { seq: head.seq, hash: hexOf(head.hash) })) this.suspect(key);
    const base = known && known.state.seq < head.seq ? known : undefined;
    const read = await this.#foldTo(key, head.seq, { base, newest });
    // Another append may have advanced the fold meanwhile.
    const now = this.#newest.get(sessionKeyName(key));
    if (!now || now.state.seq <= read.state.seq) this.#keep(key, read);
    return read.state;
  }

  /** The fold after the event at `seq`, which must exist. */
  async at(key: SessionKey, seq: number): Promise<SessionFold> {
    return sound((await this.countedAt(key, seq)).state);
  }

  /** The fold at the newest event that can be read together with the events before it. */
  async lastReadable(key: SessionKey): Promise<SessionFold> {
    const head = await this.#store.head(key);
    if (!head) throw sessionNotFound(key);
    for (let seq = head.seq; ; ) {
      try {
        return await this.at(key, seq);
      } catch (error) {
        const before = isPerdureError(error, 'EVENT_DAMAGED') ? Number(error.details.seq) - 1 : 0;
        if (!(before > 0 && before < seq)) throw error;
        seq = before;
      }
    }
  }

  /** Like `at`, with the counts since the last snapshot, for a child that continues from there. */
  async countedAt(key: SessionKey, seq: number): Promise<Counted> {
    const known = this.#newest.get(sessionKeyName(key));
    return known?.state.seq === seq ? known : this.#foldTo(key, seq);
  }

  /** The fold before the first event of the turn of `given`, if it was folded here. Reads nothing. */
  beforeTurn(key: SessionKey, given: SessionFold): SessionFold | undefined {
    const known = this.#newest.get(sessionKeyName(key));
    return known?.began && known.state === given && given.turn === given.lastTurn ? sound(known.began) : undefined;
  }

  /** Folds the events that were just appended. Drops the fold from memory if other writers appended in between. */
  advance(
    key: SessionKey,
    before: SessionFold | undefined,
    { outcome, events, bytes }: Landed,
    target?: SessionFold,
  ): void {
    const known = this.#newest.get(sessionKeyName(key));
    if (before && known?.state.hash !== hexOf(outcome.previous)) {
      this.forget(key);
      this.suspect(key);
      return;
    }
    // Concurrent facts arrive here one after another. Each fact extends the newest fold that is known at that time.
    const base = before && known;
    const copies = new OwnCopies();
    const folded = events.reduce<Counted | undefined>((each, event) => counted(each, event, 0, target, copies), base)!;
    const since = { ...folded, bytes: folded.bytes + bytes, size: folded.size + bytes };
    this.#keep(key, this.#isDue(since) ? this.#snapshot(key, since) : since);
  }

  /**
   * Starts the fold of a child session from its parent's fold. The counts since the parent's last snapshot are carried
   * over.
   */
  seed(key: SessionKey, point: Counted, { outcome, events }: Landed): void {
    if (point.state.hash !== hexOf(outcome.previous)) return;
    const parent: Counted = { ...point, began: undefined };
    const since = events.reduce<Counted>((each, event) => counted(each, event, 0), parent);
    this.#keep(key, this.#isDue(since) ? this.#snapshot(key, since) : since);
  }

  /** Runs decisions about one session one after another. So a decision can conflict only with other processes. */
  inTurn<T>(key: SessionKey, work: () => Promise<T>): Promise<T> {
    return this.#deciding.run(sessionKeyName(key), work);
  }

  forget(key: SessionKey): void {
    this.#newest.delete(sessionKeyName(key));
  }

  forgetAll(): void {
    this.#newest.clear();
  }

  /** Checks in the background whether the store lost events of this session that were seen here, and reports it. */
  suspect(key: SessionKey): void {
    const checking = this.isLost(key)
      .then(() => undefined)
      .catch(this.#report)
      .finally(() => this.#writing.delete(checking));
    this.#writing.add(checking);
  }

  /** Returns whether the store lost the newest event that was seen here, or `event`. Reports the loss once. */
  isLost(key: SessionKey, event?: SeenEvent): Promise<boolean> {
    return this.#seen.isLost(key, event);
  }

  /** Waits for the snapshots that are being written. */
  async settle(): Promise<void> {
    while (this.#writing.size > 0) await Promise.all(this.#writing);
  }

  /**
   * Folds up to a head. If the events cannot be read and the session was quarantined since, folds from the quarantine
   * on, because it continues from the last good event.
   */
  async #foldTo(key: SessionKey, seq: number, options: FoldOptions = {}): Promise<Counted> {
    try {
      return await this.#foldFrom(key, seq, options);
    } catch (error) {
      const at = isPerdureError(error, 'EVENT_DAMAGED') ? await this.#quarantine(key, seq) : undefined;
      if (at === undefined) throw error;
      return this.#foldFrom(key, seq, { after: at - 1, targets: options.targets });
    }
  }

  /** Folds up to a head. Each fold that an event goes back to is computed once, also for nested rewinds. */
  async #foldFrom(
    key: SessionKey,
    seq: number,
    { base, after, newest: reading, targets = new Map() }: FoldOptions & { readonly after?: number },
  ): Promise<Counted> {
    const from = base ?? (after === undefined ? this.#load(key, seq) : undefined);
    const [start, newest] = await Promise.all([from, reading]);
    let tracked = start;
    const passed = new Map<number, SessionFold>();
    const range = { after: after ?? tracked?.state.seq ?? 0, upTo: seq, newest };
    for await (const stored of readForward(this.#store, key, range)) {
      if (tracked && tracked === base && !goesOnFrom(tracked.state, stored)) {
        this.suspect(key);
        return this.#foldTo(key, seq, { newest: reading });
      }
      const event = newest?.decode(key.workspace, stored) ?? decodeEvent(key.workspace, stored);
      tracked = counted(tracked, event, bodyBytes(stored), await this.#target(key, event, passed, targets));
      passed.set(tracked.state.seq, tracked.state);
      if (!this.#isDue(tracked)) continue;
      tracked = this.#snapshot(key, tracked);
      passed.clear();
    }
    return tracked!;
  }

  async #load(key: SessionKey, seq: number): Promise<Counted | undefined> {
    const snapshot = await eventLoop.reading(() => this.#store.snapshot(key, { seq, foldVersion }));
    if (!snapshot) return undefined;
    const state = await readableFold(snapshot);
    return state ? { state, events: 0, bytes: 0, size: sizeOf(snapshot) } : this.#load(key, snapshot.seq - 1);
  }

  async #target(
    key: SessionKey,
    event: SessionEvent,
    passed: ReadonlyMap<number, SessionFold>,
    targets: Map<number, SessionFold>,
  ): Promise<SessionFold | undefined> {
    const to = targetOf(event);
    if (to === undefined) return undefined;
    const known = passed.get(to) ?? targets.get(to);
    if (known) return known;
    const { state } = await this.#foldTo(key, to, { targets });
    targets.set(to, state);
    return state;
  }

  /** Where the session was quarantined, if that was at or before `seq`. */
  async #quarantine(key: SessionKey, seq: number): Promise<number | undefined> {
    const at = (await this.#store.head(key))?.summary.damaged?.at;
    return at !== undefined && at <= seq ? at : undefined;
  }

  #isDue({ events, bytes }: Counted): boolean {
    return events >= this.#policy.everyEvents || bytes >= this.#policy.everyBytes;
  }

  /**
   * Stores a snapshot if one is due. No caller waits for it, because a snapshot is a cache. If it cannot be written,
   * the log still has everything.
   */
  #snapshot(key: SessionKey, tracked: Counted): Counted {
    const write = async (): Promise<void> => {
      const snapshot = await encodeFold(tracked.state);
      this.#newest.measure(sessionKeyName(key), sizeOf(snapshot));
      await this.#store.putSnapshot(key, snapshot);
    };
    const writing = eventLoop
      .apart(write)
      .catch(this.#report)
      .finally(() => this.#writing.delete(writing));
    this.#writing.add(writing);
    return { ...tracked, events: 0, bytes: 0 };
  }

  #keep(key: SessionKey, tracked: Counted): void {
    this.#seen.see(key, tracked.state);
    this.#newest.set(sessionKeyName(key), tracked);
  }
}
