import { holderName } from '../../schema/handoff.ts';
import type { SessionSummary } from '../../schema/summary.ts';
import { age } from './time.ts';

/** What a session waits for, in a word and in detail. */
export interface AwaitedThing {
  readonly what: string;
  readonly on: string;
}

/**
 * The people who hold a session, or what its run waits for, with the time after which it continues by itself.
 * Undefined if nothing is waited for.
 */
export const waitsFor = (
  { waiting, waitingOn = '', waitsUntil, holder, handoff }: SessionSummary,
  now: number,
): AwaitedThing | undefined => {
  if (holder === 'human') return { what: holderName(handoff), on: handoff?.reason ?? waitingOn };
  if (!waiting) return undefined;
  return { what: waitsUntil === undefined ? waiting : `${waiting}, ${age(now, waitsUntil)}`, on: waitingOn };
};
