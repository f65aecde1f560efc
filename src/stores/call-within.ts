import type { CallQuery, CallRecord } from '../core/ports/store.ts';
import type { Segment } from './lineage.ts';

/** As the spans tell it: an end outside of them has not come. */
export const callWithin = (spans: readonly Segment[], call: CallRecord): CallRecord => {
  const { endedSeq, durationMs: _, outputHash: __, ...made } = call;
  if (endedSeq === undefined) return call;
  const hasEnded = spans.some(
    ({ session, from, to }) => session === call.session && from <= endedSeq && endedSeq <= to,
  );
  return hasEnded ? call : { ...made, status: 'running' };
};

export const isOnlyRunning = ({ status }: CallQuery): boolean => status?.length === 1 && status[0] === 'running';
