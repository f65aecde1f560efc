import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { pointerOf } from '../../schema/pointer.ts';
import type { TraceNode } from '../../schema/trace.ts';
import { keyOf, type LogAccess } from '../engine/scope.ts';
import { eventLoop } from '../ports/event-loop.ts';
import type { SessionKey, StoredEvent } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import type { SessionFold } from '../session/fold.ts';
import { isLive, type LiveRange, liveWithin } from '../session/live-lineage.ts';
import { type CommitRecord, commitRecord } from '../session/state/commit-record.ts';
import { type Linked, TraceLinks } from '../session/state/trace-links.ts';
import { commitsWithin } from './commits.ts';
import { eventNode } from './trace-node.ts';

/** An event of a trace, with what it rests on in its own session. */
export interface TracedEvent extends Linked {
  readonly node: TraceNode & { readonly seq: number };
  readonly commit?: Pick<CommitRecord, 'origin' | 'entries' | 'at'> | undefined;
}

const pageEvents = 64;
const pageBytes = 2 * 1024 * 1024;
/** The maximum number of events of a turn that are read for what one of them rests on. */
const maxTurnEvents = 5000;

const traced = (event: SessionEvent, links: TraceLinks): TracedEvent => {
  const record = event.type === 'state.committed' ? commitRecord(event) : undefined;
  const commit = record && { origin: record.origin, entries: record.entries, at: record.at };
  return { node: { ...eventNode(event), seq: event.seq }, commit, ...links.add(event) };
};

/** Reads the log of one session for a trace, in slices. Events that cannot be read are left out. */
export class TracedSession {
  readonly #scope: LogAccess;
  readonly key: SessionKey;
  readonly head: SessionFold;
  /** What was read of each turn, by seq. */
  readonly #turns = new Map<number, ReadonlyMap<number, TracedEvent>>();

  /** How many events were read to find others. A walk back ends before this becomes too many. */
  eventsRead = 0;

  private constructor(scope: LogAccess, key: SessionKey, head: SessionFold) {
    this.#scope = scope;
    this.key = key;
    this.head = head;
  }

  static async open(scope: LogAccess, session: SessionId): Promise<TracedSession> {
    const key = keyOf(scope, session);
    return new TracedSession(scope, key, await scope.folds.outline(key));
  }

  /** Returns an event with what it rests on. Returns undefined if it cannot be read. */
  async find(seq: number): Promise<TracedEvent | undefined> {
    const [stored] = await this.#scope.store.read(this.key, { after: seq - 1, upTo: seq, limit: 1 });
    const event = stored && this.#decode(stored);
    if (!event) return undefined;
    const known = this.#turns.get(event.turn)?.get(seq);
    if (known) return known;
    const found = new Map<number, TracedEvent>();
    const links = new TraceLinks();
    const from = Math.max(await this.#startOf(event), seq - maxTurnEvents);
    for await (const each of this.#events(liveWithin(await this.#liveAt(seq), from - 1, seq))) {
      if (each.turn === event.turn) found.set(each.seq, traced(each, links));
    }
    this.eventsRead += found.size;
    // An earlier event of a long turn was read with fewer events before it.
    this.#turns.set(event.turn, new Map([...(this.#turns.get(event.turn) ?? []), ...found]));
    return found.get(seq);
  }

  /** Yields the live events after the beginning of the turn of `seq`, each with what it rests on. */
  async *following(seq: number): AsyncGenerator<TracedEvent, void, void> {
    const [stored] = await this.#scope.store.read(this.key, { after: seq - 1, upTo: seq, limit: 1 });
    const from = stored ? Math.max(await this.#startOf(stored), seq - maxTurnEvents) : seq;
    const links = new TraceLinks();
    const { live, seq: head } = this.head;
    for await (const event of this.#events(liveWithin(live, from - 1, head))) yield traced(event, links);
  }

  /** Yields the messages of people and models in a range of events. */
  async *messages(from: number, to: number): AsyncGenerator<number, void, void> {
    for await (const event of this.#events(liveWithin(await this.#liveAt(to), from - 1, to))) {
      if (event.type === 'message.appended' && event.payload.message.role !== 'tool') yield event.seq;
    }
  }

  /** The newest commit before an event that changed a file. */
  async fileBefore(path: string, seq: number): Promise<number | undefined> {
    const entry = pointerOf('filesModified', path);
    const ranges = liveWithin(await this.#liveAt(seq), 0, seq - 1);
    try {
      for await (const commit of commitsWithin(this.#scope, { session: this.key.session, ranges }, entry)) {
        if (commit.entries.includes(entry)) return commit.seq;
      }
    } catch (error) {
      if (!isSessionDamage(error)) throw error;
    }
    return undefined;
  }

  async #liveAt(seq: number): Promise<readonly LiveRange[]> {
    return isLive(this.head.live, seq) ? this.head.live : (await this.#scope.folds.at(this.key, seq)).live;
  }

  async #startOf({ turn, seq }: Pick<StoredEvent, 'turn' | 'seq'>): Promise<number> {
    if (turn === 0) return 1;
    const [start] = await this.#scope.store.turnStarts(this.key, { from: turn, limit: 1 });
    return start?.turn === turn ? start.seq : seq;
  }

  #decode(stored: StoredEvent): SessionEvent | undefined {
    try {
      return decodeEvent(this.key.workspace, stored);
    } catch (error) {
      if (isSessionDamage(error)) return undefined;
      throw error;
    }
  }

  async *#events(ranges: readonly LiveRange[]): AsyncGenerator<SessionEvent, void, void> {
    for (const [from, upTo] of ranges) {
      for (let after = from - 1; after < upTo; ) {
        const bounds = { after, upTo, limit: pageEvents, maxBytes: pageBytes };
        const page = await eventLoop.reading(() => this.#scope.store.read(this.key, bounds));
        for (const stored of page) {
          await eventLoop.slice();
          const event = this.#decode(stored);
          if (event) yield event;
        }
        after = page.at(-1)?.seq ?? upTo;
      }
    }
  }
}
