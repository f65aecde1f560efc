import type { SessionSummary } from '../../schema/summary.ts';

/** What a session waits for, in a word and in detail. */
export interface AwaitedThing {
  readonly what: string;
  readonly on: string;
}

/** What the run of a session waits for, or the person who holds the session. Undefined if nothing is waited for. */
export const waitsFor = ({ waiting, waitingOn = '', holder }: SessionSummary): AwaitedThing | undefined => {
  if (waiting) return { what: waiting, on: waitingOn };
  return holder === 'human' ? { what: 'human', on: '' } : undefined;
};
