import { z } from 'zod';
import { BoundedMap } from '../../concurrency/bounded-map.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { RecordWrite } from '../ports/records.ts';
import type { Head, SessionKey, StoredEvent } from '../ports/store.ts';
import { deliveriesFor, type Occurrence, occurrencesOf } from './deliveries-for.ts';
import { listWebhooks, type StoredWebhook } from './stored-webhook.ts';
import type { WebhookScope } from './webhook-scope.ts';
import { writeDelivery } from './write-delivery.ts';

/** How far a session's events were processed, and when its last `session.changed` was delivered. */
const Cursor = z.strictObject({ seq: z.int(), changedSeq: z.int(), changedAt: z.int() });
type Cursor = z.infer<typeof Cursor>;

interface KnownCursor extends Cursor {
  /** The version of its record, or 0 if there is none. */
  readonly version: number;
  /** The seq in the record, which may be lower than `seq`. */
  readonly keptSeq: number;
}

const pageEvents = 200;
const pageBytes = 4 * 1024 * 1024;
/**
 * The number of events after which a cursor is stored even if it created no deliveries. Until then it is kept only in
 * memory.
 */
const unkeptEvents = 1000;
const maxCursors = 10_000;
/** The minimum time between two `session.changed` deliveries of a session. */
export const changedEveryMs = 1000;

const oldestOf = (webhooks: readonly StoredWebhook[]): number =>
  webhooks
    .filter(({ disabledAt }) => disabledAt === undefined)
    .flatMap(({ since }) => Object.values(since))
    .reduce((oldest, each) => Math.min(oldest, each), Number.POSITIVE_INFINITY);

/** The earliest time that a webhook subscribes from. Undefined if no webhook is enabled. */
export const heardSince = async ({ records, workspace }: WebhookScope): Promise<number | undefined> => {
  const oldest = oldestOf(await listWebhooks(records, workspace));
  return Number.isFinite(oldest) ? oldest : undefined;
};

/**
 * Creates deliveries from the events of sessions. Deliveries and the cursor are written atomically on the previous
 * version of the cursor. So a repeated or concurrent check creates no delivery twice and misses none.
 */
export class OccurrenceLog {
  readonly #scope: WebhookScope;
  readonly #cursors = new BoundedMap<SessionId, KnownCursor>(maxCursors);

  constructor(scope: WebhookScope) {
    this.#scope = scope;
  }

  /** Whether events up to `seq` are known to be processed, without a query to the store. */
  isDone(session: SessionId, seq: number): boolean {
    const cursor = this.#cursors.get(session);
    return cursor !== undefined && cursor.seq >= seq && cursor.changedSeq >= seq;
  }

  /**
   * Creates the missing deliveries of a session. Returns their number, and when to check again if `session.changed` was
   * throttled.
   */
  async look(session: SessionId): Promise<{ readonly made: number; readonly againAt?: number }> {
    const { store, workspace } = this.#scope;
    const key = { workspace, session };
    for (let made = 0; ; ) {
      const head = await store.head(key);
      const since = await heardSince(this.#scope);
      if (!head || since === undefined) return { made };
      const cursor = this.#cursors.get(session) ?? (await this.#readCursor(key, head));
      const after = await this.#skipOlder(key, cursor.seq, head.seq, since);
      const events = await store.read(key, { after, upTo: head.seq, limit: pageEvents, maxBytes: pageBytes });
      const step = await this.#keep(head, { ...cursor, seq: after }, events);
      made += step.made;
      if (step.isDone) return { made, ...(step.againAt !== undefined && { againAt: step.againAt }) };
    }
  }

  async #readCursor({ workspace, session }: SessionKey, { parent }: Head): Promise<KnownCursor> {
    const found = await this.#scope.records.record(workspace, 'hook-cursor', session);
    const start = parent?.seq ?? 0;
    const cursor = found ? Cursor.parse(found.body) : { seq: start, changedSeq: start, changedAt: 0 };
    return { ...cursor, version: found?.version ?? 0, keptSeq: cursor.seq };
  }

  /**
   * Returns the seq after which to start. Skips events before `since` with a binary search, because the times of a log
   * never decrease.
   */
  async #skipOlder(key: SessionKey, after: number, head: number, since: number): Promise<number> {
    let [low, high] = [after, head];
    if (high - low <= pageEvents) return after;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [event] = await this.#scope.store.read(key, { after: middle, limit: 1 });
      if (event && event.at < since) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /**
   * Stores deliveries and the cursor. Reads the webhooks after the events, so that a webhook added before an event
   * never misses it.
   */
  async #keep(
    head: Head,
    cursor: KnownCursor,
    events: readonly StoredEvent[],
  ): Promise<{ readonly made: number; readonly isDone: boolean; readonly againAt?: number | undefined }> {
    const { records, workspace, clock } = this.#scope;
    const { session } = head;
    const now = clock.now();
    const seq = events.at(-1)?.seq ?? cursor.seq;
    const isAtHead = seq >= head.seq;
    const hasChanged = isAtHead && head.seq > cursor.changedSeq;
    const isTooSoon = now < cursor.changedAt + changedEveryMs;
    const changed: Occurrence = { type: 'session.changed', session, seq: head.seq, at: head.at };
    const occurrences = events.flatMap(occurrencesOf);
    const webhooks = await listWebhooks(records, workspace);
    const all = hasChanged && !isTooSoon ? [...occurrences, changed] : occurrences;
    const deliveries = deliveriesFor(workspace, webhooks, all, now);
    const isHeard = deliveries.some(({ message }) => message.type === 'session.changed');
    const next: Cursor = {
      seq,
      changedSeq: hasChanged && !isTooSoon ? head.seq : cursor.changedSeq,
      changedAt: isHeard ? now : cursor.changedAt,
    };
    const againAt = hasChanged && isTooSoon ? cursor.changedAt + changedEveryMs : undefined;
    if (deliveries.length === 0 && seq - cursor.keptSeq < unkeptEvents) {
      this.#remember(session, { ...cursor, ...next });
      return { made: 0, isDone: isAtHead, againAt };
    }
    const writes = deliveries.map((delivery) => writeDelivery(delivery, 0, now));
    const isKept = await this.#write(session, cursor.version, next, writes);
    this.#cursors.delete(session);
    return { made: isKept ? deliveries.length : 0, isDone: isKept && isAtHead, againAt };
  }

  async #write(
    session: SessionId,
    onVersion: number,
    cursor: Cursor,
    deliveries: readonly RecordWrite[],
  ): Promise<boolean> {
    const { records, workspace } = this.#scope;
    const moved: RecordWrite = { kind: 'hook-cursor', id: session, onVersion, body: { ...cursor } };
    if (await records.writeRecords(workspace, [moved, ...deliveries])) return true;
    if (((await records.record(workspace, 'hook-cursor', session))?.version ?? 0) !== onVersion) return false;
    const there = await Promise.all(deliveries.map(({ id }) => records.record(workspace, 'delivery', id)));
    return records.writeRecords(workspace, [moved, ...deliveries.filter((_, index) => !there[index])]);
  }

  #remember(session: SessionId, cursor: KnownCursor): void {
    this.#cursors.set(session, cursor);
  }
}
