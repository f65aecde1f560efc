import { type CallQuery, type CallRecord, type CallStatus, mayHaveTakenEffect } from '../../core/ports/store.ts';
import type { SessionId } from '../../schema/ids.ts';
import type { Segment } from './lineage.ts';

/**
 * The call as this session sees it; `live` holds the session's live spans. If a fork or a rewind cut off the end of
 * the call, the call is `interrupted`.
 */
export const callWithin = (session: SessionId, live: readonly Segment[], call: CallRecord): CallRecord => {
  const { endedSeq, durationMs: _, outputHash: __, source: ___, ...made } = call;
  const hasLiveOutcome =
    endedSeq === undefined
      ? call.session === session
      : live.some((span) => span.session === call.session && span.from <= endedSeq && endedSeq <= span.to);
  return hasLiveOutcome ? call : { ...made, status: 'interrupted' };
};

const effective: ReadonlySet<CallStatus> = new Set(mayHaveTakenEffect);
export const isEffective = ({ status }: CallRecord): boolean => effective.has(status);

export const isWithin = ({ session, from, to }: Segment, call: Pick<CallRecord, 'session' | 'seq'>): boolean =>
  session === call.session && from <= call.seq && call.seq <= to;

export const isOnlyRunning = ({ status }: CallQuery): boolean => status?.length === 1 && status[0] === 'running';
