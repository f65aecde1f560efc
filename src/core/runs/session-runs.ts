import type { SessionEvent } from '../../schema/event.ts';
import type { RunId } from '../../schema/ids.ts';
import type { RunRecord } from '../../schema/run-record.ts';
import { readBackward } from '../engine/read-log.ts';
import type { LogAccess } from '../engine/scope.ts';
import type { SessionKey, StoredEvent } from '../ports/store.ts';
import { decodeEvent } from '../session/events/event-codec.ts';
import { isSessionDamage } from '../session/events/session-damaged.ts';
import { type RunsHead, runEventTypes, runRecord } from './run-record.ts';

/** Counts the events that a listing has read, so that a page can end before it has read too many. */
export interface Scan {
  events: number;
}

/** The position of a listing in one session: it continues with runs admitted before `below`, and reads from `from`. */
export interface RunPosition {
  readonly below: number;
  readonly from: number;
}

export interface FoundRun {
  readonly record: RunRecord;
  /** The position behind this run. */
  readonly next: RunPosition;
}

/** Decodes an event. An unreadable event is left out, so that the other runs can still be listed. */
const readable = (key: SessionKey, stored: StoredEvent): SessionEvent | undefined => {
  try {
    return decodeEvent(key.workspace, stored);
  } catch (error) {
    if (isSessionDamage(error)) return undefined;
    throw error;
  }
};

/** The session's head. If its log cannot be folded, the runs are listed as its summary allows. */
const headOf = async (scope: LogAccess, key: SessionKey): Promise<RunsHead> => {
  try {
    return await scope.folds.outline(key);
  } catch (error) {
    const head = isSessionDamage(error) ? await scope.store.head(key) : undefined;
    if (!head) throw error;
    const { seq, parent, summary } = head;
    const { status, holder, handoff } = summary;
    return { seq, parent, live: [[1, seq]], queue: [], status, holder, handoff };
  }
};

/**
 * Yields the runs that the session itself executed, the last admitted one first. Reads the log backward, only as far as
 * the caller asks. A run that a fork inherited is listed in the session that executed it.
 */
export async function* sessionRuns(
  scope: LogAccess,
  key: SessionKey,
  after: RunPosition | undefined,
  scan: Scan,
): AsyncGenerator<FoundRun, void, void> {
  const head = await headOf(scope, key);
  const to = Math.min(after?.from ?? head.seq, head.seq);
  const below = after?.below ?? Number.POSITIVE_INFINITY;
  const events = new Map<RunId, SessionEvent[]>();
  for await (const stored of readBackward(scope.store, key, { from: (head.parent?.seq ?? 0) + 1, to })) {
    scan.events += 1;
    if (stored.type !== 'input.admitted' && !(stored.run && runEventTypes.has(stored.type))) continue;
    const event = readable(key, stored);
    if (!event) continue;
    if (event.type !== 'input.admitted') {
      const own = events.get(event.run!);
      if (own) own.push(event);
      else events.set(event.run!, [event]);
      continue;
    }
    const own = events.get(event.payload.run) ?? [];
    events.delete(event.payload.run);
    if (event.seq >= below) continue;
    const record = runRecord(event, own.toReversed(), head);
    if (!record) continue;
    // An older run can have events after this admission, because its input was admitted while that run worked.
    const from = [...events.values()].reduce((newest, [first]) => Math.max(newest, first!.seq), event.seq - 1);
    yield { record, next: { below: event.seq, from } };
  }
}
