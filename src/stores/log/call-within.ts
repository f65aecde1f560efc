import type { CallQuery, CallRecord } from '../../core/ports/store.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Segment } from './lineage.ts';

/** As the session has it whose live events are in these spans: nothing ends there any more that a fork or a rewind cut off. */
export const callWithin = (session: SessionId, live: readonly Segment[], call: CallRecord): CallRecord => {
  const { endedSeq, durationMs: _, outputHash: __, ...made } = call;
  const isToldHere =
    endedSeq === undefined
      ? call.session === session
      : live.some((span) => span.session === call.session && span.from <= endedSeq && endedSeq <= span.to);
  return isToldHere ? call : { ...made, status: 'interrupted' };
};

export const isOnlyRunning = ({ status }: CallQuery): boolean => status?.length === 1 && status[0] === 'running';
