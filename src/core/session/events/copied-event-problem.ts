import { isPerdureError } from '../../../schema/error.ts';
import { type EventType, isEventType } from '../../../schema/event.ts';
import type { SessionSummary } from '../../../schema/summary.ts';
import { maxPayloadBytes, type StoredEvent } from '../../ports/store.ts';
import { mayFollow } from '../lifecycle.ts';
import { opensTurn } from '../summary.ts';
import { decodePayload } from './event-codec.ts';

const firsts: readonly string[] = ['session.opened', 'session.forked'];

const placeProblem = (before: SessionSummary | undefined, { type }: StoredEvent): string | undefined => {
  if (!before) return firsts.includes(type) ? undefined : `a session cannot begin with ${type}`;
  if (firsts.includes(type)) return `${type} can only be the first event`;
  if (!isEventType(type) || mayFollow(before.status, type)) return undefined;
  return `${type} cannot follow while the session is ${before.status}`;
};

const payloadProblem = (event: StoredEvent, type: EventType): string | undefined => {
  try {
    const payload = decodePayload(event, type);
    if (type !== 'session.rewound' || (payload as { to: number }).to < event.seq) return undefined;
    return 'it rewinds to an event that is not before it';
  } catch (error) {
    if (isPerdureError(error, 'EVENT_UNSUPPORTED')) return undefined;
    if (isPerdureError(error, 'EVENT_DAMAGED')) return String(error.details.reason);
    throw error;
  }
};

/** Turns are numbered consecutively. A fork continues in one of its parent's turns. */
const turnProblem = (before: SessionSummary | undefined, { type, turn, opensTurn: mark }: StoredEvent) => {
  if (mark !== opensTurn(before, { type, turn })) return 'its opensTurn mark does not match its turn number';
  return type !== 'session.forked' && turn > (before?.lastTurn ?? 0) + 1
    ? `its turn ${turn} was never opened`
    : undefined;
};

/**
 * The reason why no release could have written this event after the events that the summary covers; undefined if one
 * could. A valid hash chain does not prove that Perdure wrote the event. Redacted payloads, and event types that only
 * a later release can read, are accepted unchecked.
 */
export const copiedEventProblem = (before: SessionSummary | undefined, event: StoredEvent): string | undefined => {
  const { type, body } = event;
  if (body.kind === 'bytes' && body.bytes.length > maxPayloadBytes) {
    return `its payload of ${body.bytes.length} bytes is over the limit of ${maxPayloadBytes}`;
  }
  return (
    turnProblem(before, event) ??
    placeProblem(before, event) ??
    (body.kind === 'bytes' && isEventType(type) ? payloadProblem(event, type) : undefined)
  );
};
