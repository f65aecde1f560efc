import type { PayloadOf, SessionEvent } from '../../schema/event.ts';
import { isId } from '../../schema/ids.ts';
import { claimOf } from './events/chain.ts';

/** The loop outside Perdure that claimed the session last. */
export interface Tracker {
  /** The claim in the session's fence. */
  readonly claim: string;
  readonly holder?: PayloadOf<'session.tracked'>['holder'];
}

/** A tracked call whose result no message has brought yet. */
export interface TrackedMark {
  readonly tool: string;
  readonly inputHash: string;
  readonly turn: number;
  readonly untrusted?: true | undefined;
}

/** The part of a session's fold that concerns loops outside Perdure. */
export interface TrackingFold {
  readonly tracker?: Tracker | undefined;
  /** Tracked calls by id, oldest first. They show which appended results belong to calls that are recorded already. */
  readonly tracked: Readonly<Record<string, TrackedMark>>;
}

export const noTracking: TrackingFold = { tracked: {} };

/** The maximum number of marks. A loop that never appends results would make the fold grow without limit. */
const maxMarks = 200;

/** Whether the runtime made the id, because the loop gave none that its messages could repeat. */
export const isMadeId = (callId: string): boolean => isId('call', callId);

/**
 * Finds the tracked call that an appended result belongs to: the one with its id, or the oldest of its turn with the
 * same tool and input whose loop gave no id.
 */
export const markFor = (
  tracked: TrackingFold['tracked'],
  call: TrackedMark & { readonly callId: string },
): string | undefined => {
  const { callId, tool, inputHash, turn } = call;
  const named = Object.hasOwn(tracked, callId) ? tracked[callId] : undefined;
  if (named?.tool === tool && (named.turn === turn || named.inputHash === inputHash)) return callId;
  return Object.entries(tracked).find(
    ([id, each]) => isMadeId(id) && each.tool === tool && each.turn === turn && each.inputHash === inputHash,
  )?.[0];
};

const withMark = (tracked: TrackingFold['tracked'], callId: string, mark: TrackedMark): TrackingFold['tracked'] => {
  const { [callId]: _, ...others } = tracked;
  const all = Object.entries(others);
  return { ...Object.fromEntries(all.slice(Math.max(0, all.length - maxMarks + 1))), [callId]: mark };
};

const withoutMarks = (
  tracked: TrackingFold['tracked'],
  event: SessionEvent<'message.appended'>,
  inputHashOf: (callId: string) => string | undefined,
): TrackingFold['tracked'] => {
  const { message } = event.payload;
  if (message.role !== 'tool' || Object.keys(tracked).length === 0) return tracked;
  let rest = tracked;
  for (const { callId, tool } of message.content) {
    const found = markFor(rest, { callId, tool, inputHash: inputHashOf(callId) ?? '', turn: event.turn });
    if (found === undefined) continue;
    const { [found]: _, ...others } = rest;
    rest = others;
  }
  return rest;
};

/** Applies one event. `inputHashOf` returns the hash of the input of an open call. */
export const foldTracking = (
  fold: TrackingFold,
  event: SessionEvent,
  inputHashOf: (callId: string) => string | undefined,
  target?: TrackingFold,
): TrackingFold => {
  const before: TrackingFold = { tracker: fold.tracker, tracked: fold.tracked };
  switch (event.type) {
    case 'session.tracked':
      return { ...before, tracker: { claim: claimOf(event.hash), holder: event.payload.holder } };
    case 'session.forked':
    case 'run.started':
      return before.tracker ? { ...before, tracker: undefined } : before;
    case 'session.rewound':
      return { tracker: undefined, tracked: target?.tracked ?? {} };
    case 'tool.called': {
      if (event.run) return before;
      const { callId, tool, inputHash, untrusted } = event.payload;
      const mark = { tool, inputHash, turn: event.turn, ...(untrusted && { untrusted }) };
      return { ...before, tracked: withMark(before.tracked, callId, mark) };
    }
    case 'message.appended': {
      const tracked = withoutMarks(before.tracked, event, inputHashOf);
      return tracked === before.tracked ? before : { ...before, tracked };
    }
    default:
      return before;
  }
};
