import type { CallRecord, StoredEvent } from '../../../core/ports/store.ts';
import type { CallChange } from '../../../core/session/projections.ts';
import type { SessionId } from '../../../schema/ids.ts';
import { madeCall, settledCall } from '../../log/projected-rows.ts';

export interface CallEnd extends Extract<CallChange, { kind: 'ended' }> {
  readonly session: SessionId;
  readonly endedSeq: number;
  /** How many open calls of its id are newer than its own, and ended by others of the batch. */
  readonly newer: number;
}

export interface CallBatch {
  readonly made: readonly CallRecord[];
  /** Ends of calls that were stored before. */
  readonly ended: readonly CallEnd[];
}

/** What the events of a batch, in order, say about calls. An end belongs to the newest call of its id that is open. */
export const batchCalls = (
  changes: readonly { readonly event: StoredEvent; readonly call: CallChange }[],
): CallBatch => {
  const made: CallRecord[] = [];
  const ended: CallEnd[] = [];
  const open = new Map<string, number[]>();
  const endedBefore = new Map<string, number>();
  for (const { event, call } of changes) {
    const name = `${event.session}/${call.callId}`;
    if (call.kind === 'called') {
      open.set(name, [...(open.get(name) ?? []), made.length]);
      made.push(madeCall(event, call));
      continue;
    }
    const place = open.get(name)?.pop();
    if (place !== undefined) {
      made[place] = settledCall(made[place]!, event, call);
    } else {
      const newer = endedBefore.get(name) ?? 0;
      endedBefore.set(name, newer + 1);
      ended.push({ ...call, session: event.session, endedSeq: event.seq, newer });
    }
  }
  return { made, ended };
};
