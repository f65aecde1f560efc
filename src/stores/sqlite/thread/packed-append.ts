import type { Appended, AppendOutcome, AppendRequest, Head, StoredEvent } from '../../../core/ports/store.ts';
import { saltBytes } from '../../../core/session/events/chain.ts';
import { PackedBytes } from './packed-bytes.ts';

const hashBytes = 32;
const markBytes = saltBytes + hashBytes;

/**
 * The values that the writer thread adds to the events of a request. The payloads stay on the event loop's side and
 * are not sent back.
 */
export interface AppendedMarks {
  readonly outcome: 'appended';
  readonly head: Head;
  readonly previous: Uint8Array;
  readonly turns: readonly { readonly turn: number; readonly opensTurn: boolean }[];
  /** Salt and hash of each event. */
  readonly marks: Uint8Array;
}

export type AppendReply = Exclude<AppendOutcome, Appended> | AppendedMarks;

/**
 * Copies the payloads into one new buffer that can be transferred. The caller's buffers may be shared, so they stay
 * untouched.
 */
export const packRequest = (request: AppendRequest): { request: AppendRequest; transfer: ArrayBuffer } => {
  const packed = new PackedBytes(request.events.reduce((sum, { payload }) => sum + payload.length, 0));
  const [first, ...rest] = request.events;
  const pack = (event: typeof first) => ({ ...event, payload: packed.add(event.payload) });
  return {
    request: { ...request, events: [pack(first), ...rest.map(pack)] },
    transfer: packed.buffer,
  };
};

export const packOutcome = (outcome: AppendOutcome): AppendReply => {
  if (outcome.outcome !== 'appended') return outcome;
  const { head, previous, events } = outcome;
  const marks = new Uint8Array(events.length * markBytes);
  for (const [index, { body, hash }] of events.entries()) {
    if (body.kind === 'bytes') marks.set(body.salt, index * markBytes);
    marks.set(hash, index * markBytes + saltBytes);
  }
  return {
    outcome: 'appended',
    head,
    previous,
    turns: events.map(({ turn, opensTurn }) => ({ turn, opensTurn })),
    marks,
  };
};

export const unpackOutcome = (request: AppendRequest, reply: AppendReply): AppendOutcome => {
  if (reply.outcome !== 'appended') return reply;
  const { head, previous, turns, marks } = reply;
  const before = head.seq - turns.length;
  const events = request.events.map(({ type, version, run, actor, payload }, index): StoredEvent => {
    const mark = marks.subarray(index * markBytes, (index + 1) * markBytes);
    return {
      session: request.session,
      seq: before + index + 1,
      at: head.at,
      ...turns[index]!,
      run,
      type,
      version,
      actor,
      body: { kind: 'bytes', salt: mark.subarray(0, saltBytes), bytes: payload },
      hash: mark.subarray(saltBytes),
    };
  });
  return { outcome: 'appended', head, previous, events };
};
