import type { CallRecord, StoredEvent } from '../../../core/ports/store.ts';
import type { CallChange } from '../../../core/session/projections.ts';
import type { SessionId } from '../../../schema/ids.ts';
import { madeCall, reportedCall, settledCall } from '../../log/projected-rows.ts';

export interface CallEnd extends Extract<CallChange, { kind: 'ended' }> {
  readonly session: SessionId;
  readonly endedSeq: number;
  /** The number of newer open calls with the same id that also end in this batch. */
  readonly newer: number;
}

export interface CallBatch {
  readonly made: readonly CallRecord[];
  /** The ends of calls that earlier batches stored. */
  readonly ended: readonly CallEnd[];
}

/** Collects the call changes of a batch, in event order. An end belongs to the newest open call with its id. */
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
    if (call.kind === 'reported') {
      made.push(reportedCall(event, call));
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
