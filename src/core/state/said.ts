import { isPerdureError } from '../../schema/error.ts';
import type { SessionEvent } from '../../schema/event.ts';
import type { SessionId } from '../../schema/ids.ts';
import { type Said, type SaidRef, saidRefAt, saidWords } from '../../schema/said.ts';
import { keyOf, type LogAccess } from '../engine/scope.ts';
import type { CallRecord, SessionKey } from '../ports/store.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { isMadeId } from '../session/tracking-fold.ts';
import { eventsWithin, joinRanges, type ReadBudget, rangesAt } from './events-within.ts';

/** A record of a session that may rest on a message. */
interface Source {
  readonly session: SessionId;
  readonly seq: number;
  readonly said?: SaidRef | undefined;
  /** The call by which the message is searched for if `said` is absent. */
  readonly cause?: { readonly tool: string; readonly callId: string } | undefined;
}

type WithSaid<Each extends Source> = Each & { readonly said?: Said | undefined };

/** A page reads at most so many bytes of events for the words. Further records only name their message. */
const maxBytes = 32 * 1024 * 1024;
/** How far from a record its message is searched for, when the message followed the call. */
const reach = 256;
const maxSearched = 2048;
const sessionsAtOnce = 16;

/**
 * Reads what the agent said when it asked for calls. One reader serves one page of records, so that each message is read
 * once. All reads go through `key` if it is given, because a caller may see a fork and not the session it inherits from.
 */
export class SaidReader {
  readonly #scope: LogAccess;
  readonly #key: SessionKey | undefined;
  readonly #words = new Map<string, Said>();
  readonly #budget: ReadBudget = { bytes: maxBytes };

  constructor(scope: LogAccess, key?: SessionKey) {
    this.#scope = scope;
    this.#key = key;
  }

  /** Returns the calls, each with the words of its message. The start of a call names the message. */
  async calls<Call extends CallRecord>(calls: readonly Call[]): Promise<readonly (Call & { readonly said?: Said })[]> {
    const refs = new Map<CallRecord, SaidRef>();
    await this.#bySession(calls, async (key, made) => {
      const bySeq = Map.groupBy(made, ({ seq }) => seq);
      for await (const event of this.#events(key, rangesAt([...bySeq.keys()]))) {
        if (event.type !== 'tool.called' && event.type !== 'call.reported') continue;
        const { said } = event.payload;
        if (said) for (const call of bySeq.get(event.seq) ?? []) refs.set(call, saidRefAt(said, event.seq));
      }
    });
    const asked = calls.map((call) => {
      const said = refs.get(call);
      return { session: call.session, seq: call.seq, cause: call, ...(said && { said }) };
    });
    const told = await this.of(asked);
    return calls.map((call, place) => ({ ...call, ...(told[place]!.said && { said: told[place]!.said }) }));
  }

  /** Returns the records, each with the words of its message. A message that cannot be read leaves its reference. */
  async of<Each extends Source>(records: readonly Each[]): Promise<readonly WithSaid<Each>[]> {
    const found = new Map<Source, Said>();
    await this.#bySession(records, async (key, ofSession) => {
      await this.#read(key, ofSession);
      for (const [record, said] of await this.#search(key, ofSession)) found.set(record, said);
    });
    return records.map((record) => {
      const said = record.said ? this.#wordsAt(record, record.said) : found.get(record);
      return said ? { ...record, said } : record;
    });
  }

  #sessionOf(record: Source): SessionId {
    return this.#key?.session ?? record.session;
  }

  /** The words at a reference. A message with another id is not the one that the record names. */
  #wordsAt(record: Source, ref: SaidRef): Said {
    const words = this.#words.get(`${this.#sessionOf(record)}/${ref.seq}`);
    return words?.message === ref.message ? words : ref;
  }

  /** Calls `work` for the records of each session. A damaged or hidden session leaves its records without words. */
  async #bySession<Each extends Source>(
    records: readonly Each[],
    work: (key: SessionKey, records: readonly Each[]) => Promise<void>,
  ): Promise<void> {
    const groups = [...Map.groupBy(records, (record) => this.#sessionOf(record))];
    for (let from = 0; from < groups.length; from += sessionsAtOnce) {
      await Promise.all(
        groups.slice(from, from + sessionsAtOnce).map(async ([session, ofSession]) => {
          try {
            await work(keyOf(this.#scope, session), ofSession);
          } catch (error) {
            if (!isSessionDamage(error) && !isPerdureError(error, 'SESSION_NOT_FOUND')) throw error;
          }
        }),
      );
    }
  }

  #events(key: SessionKey, ranges: ReturnType<typeof rangesAt>): AsyncGenerator<SessionEvent, void, void> {
    return eventsWithin(this.#scope, key, ranges, this.#budget);
  }

  /** Reads the messages that the records name. */
  async #read(key: SessionKey, records: readonly Source[]): Promise<void> {
    const unread = records.flatMap(({ said }) =>
      said && !this.#words.has(`${key.session}/${said.seq}`) ? said.seq : [],
    );
    for await (const event of this.#events(key, rangesAt(unread))) {
      const words = event.type === 'message.appended' ? saidWords(event.payload.message, event.seq) : undefined;
      if (words) this.#words.set(`${key.session}/${event.seq}`, words);
    }
  }

  /** Finds the messages of calls that no record names: a loop outside Perdure may append them after its calls. */
  async #search(key: SessionKey, records: readonly Source[]): Promise<ReadonlyMap<Source, Said>> {
    const found = new Map<Source, Said>();
    const asking = records.filter(({ said, cause }) => !said && cause && !isMadeId(cause.callId));
    const byCall = Map.groupBy(asking, ({ cause }) => cause!.callId);
    const ranges = joinRanges(
      asking.map(({ seq }) => [Math.max(1, seq - reach), seq + reach]),
      maxSearched,
    );
    for await (const event of this.#events(key, ranges)) {
      if (event.type !== 'message.appended') continue;
      const { message } = event.payload;
      for (const part of message.role === 'assistant' ? message.content : []) {
        if (part.type !== 'tool-call') continue;
        for (const record of byCall.get(part.callId) ?? []) {
          const distance = Math.abs(event.seq - record.seq);
          const known = found.get(record);
          if (record.cause?.tool !== part.tool || distance > reach) continue;
          if (!known || distance < Math.abs(known.seq - record.seq)) found.set(record, saidWords(message, event.seq)!);
        }
      }
    }
    return found;
  }
}
