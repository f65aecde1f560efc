import { createHash } from 'node:crypto';
import type { Message } from '../schema/message.ts';

const accepted = /^[A-Za-z0-9_-]{1,64}$/;

/** Replaces a call id that providers would reject. Agent loops outside Perdure may record such ids. */
export const wireCallId = (callId: string): string =>
  accepted.test(callId) ? callId : `call_${createHash('sha256').update(callId).digest('hex').slice(0, 32)}`;

/**
 * Returns a function that assigns each call of an answer an id that is unique in the conversation. Some servers number
 * their calls from 1 in every answer.
 */
export const callIdsFor = (messages: readonly Message[]): ((given: string) => string) => {
  const taken = new Set(
    messages.flatMap(({ content }) => content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))),
  );
  return (given) => {
    const id = wireCallId(given);
    let free = id;
    for (let count = 2; taken.has(free); count++) free = `${id.slice(0, 56)}_${count}`;
    taken.add(free);
    return free;
  };
};
