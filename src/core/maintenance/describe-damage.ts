import { type Damage, type LostCall, maxListed } from '../../schema/damage.ts';
import { isEventType } from '../../schema/event.ts';
import type { FilesAccess, LogAccess } from '../engine/scope.ts';
import { sessionNotFound } from '../engine/session-folds.ts';
import type { CallRecord, Head, SessionKey, StoredEvent } from '../ports/store.ts';
import { findDamage } from './find-damage.ts';
import type { BadEvent } from './verify-folds.ts';

const page = { limit: 256, maxBytes: 2 * 1024 * 1024 };
const callPage = 200;
/** The maximum number of calls that are counted. */
const maxCounted = 10_000;

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;

/** Widens a range so that it includes the value. Ignores a value that only a damaged row can hold. */
const widened = (range: Damage['turns'], value: number): Damage['turns'] => {
  if (!isCount(value)) return range;
  return { from: Math.min(range?.from ?? value, value), to: Math.max(range?.to ?? value, value) };
};

const lostEvent = ({ seq, type, turn, at }: StoredEvent): Damage['events'][number] => ({
  seq,
  ...(isEventType(type) && { type }),
  ...(isCount(turn) && { turn }),
  ...(isCount(at) && { at }),
});

type LostEvents = Pick<Damage, 'missing' | 'types' | 'turns' | 'times' | 'events' | 'moreEvents'>;

/** Reads what the rows of the lost events still say, in bounded memory. */
const lostEvents = async (scope: LogAccess, key: SessionKey, from: number, to: number): Promise<LostEvents> => {
  const types: Record<string, number> = {};
  const events: Damage['events'] = [];
  let [turns, times]: [Damage['turns'], Damage['times']] = [undefined, undefined];
  let [cursor, found] = [from - 1, 0];
  for (;;) {
    const read = cursor < to ? await scope.store.read(key, { ...page, after: cursor, upTo: to }) : [];
    for (const event of read) {
      for (let seq = cursor + 1; seq < event.seq && events.length < maxListed; seq++) events.push({ seq });
      if (events.length < maxListed) events.push(lostEvent(event));
      const type = isEventType(event.type) ? event.type : 'unknown';
      types[type] = (types[type] ?? 0) + 1;
      [turns, times] = [widened(turns, event.turn), widened(times, event.at)];
      cursor = event.seq;
      found += 1;
    }
    if (read.length === 0) break;
  }
  for (let seq = cursor + 1; seq <= to && events.length < maxListed; seq++) events.push({ seq });
  const count = to - from + 1;
  return { missing: count - found, types, turns, times, events, moreEvents: count - events.length };
};

const lostCall = ({ callId, tool, status, turn, seq, at }: CallRecord): LostCall => ({
  callId: callId.slice(0, 200),
  tool: tool.slice(0, 200),
  status,
  turn,
  seq,
  at,
});

/** The first event of a call that was running at the last good event, or the first lost event. */
const callsFrom = async (scope: LogAccess, key: SessionKey, good: number): Promise<number> => {
  const running = good > 0 ? Object.values((await scope.folds.at(key, good)).runningCalls) : [];
  return Math.min(good + 1, ...running.map(({ seq }) => seq));
};

/** Finds the calls that began or ended in the lost part. The index of calls does not depend on the events. */
const lostCalls = async (
  scope: LogAccess,
  key: SessionKey,
  good: number,
  to: number,
): Promise<Pick<Damage, 'calls' | 'moreCalls'>> => {
  const range = [await callsFrom(scope, key, good), to] as const;
  const within = { session: key.session, ranges: [range], live: [range] };
  const calls: LostCall[] = [];
  let count = 0;
  for (let before: CallRecord | undefined; count < maxCounted; ) {
    const found: readonly CallRecord[] = await scope.store.findCalls(scope.workspace, {
      within,
      limit: callPage,
      before,
    });
    for (const call of found.filter(({ seq, endedSeq = 0 }) => seq > good || endedSeq > good)) {
      count += 1;
      if (calls.length < maxListed) calls.push(lostCall(call));
    }
    before = found.at(-1);
    if (found.length < callPage) break;
  }
  return { calls, moreCalls: count - calls.length };
};

/** The last event that is lost: the newest one, or the last one before the session was quarantined. */
const lastLost = ({ seq, summary: { damaged } }: Head): number => (damaged ? damaged.at - 1 : seq);

/** Says exactly what is lost because an event is bad. */
export const describeDamage = async (
  scope: LogAccess,
  key: SessionKey,
  head: Head,
  { seq, reason }: BadEvent,
): Promise<Damage> => {
  const [good, to] = [seq - 1, Math.max(seq, lastLost(head))];
  return {
    session: key.session,
    seq,
    reason: reason.slice(0, 1000).toWellFormed(),
    good,
    to,
    ...(await lostEvents(scope, key, seq, to)),
    ...(await lostCalls(scope, key, good, to)),
  };
};

/** Checks a session, and describes its damage. Returns undefined if its log is whole. */
export const damageOf = async (scope: LogAccess & FilesAccess, key: SessionKey): Promise<Damage | undefined> => {
  const head = await scope.store.head(key);
  if (!head) throw sessionNotFound(key);
  const bad = await findDamage(scope, key, head);
  return bad && describeDamage(scope, key, head, bad);
};
