import { longestTimerMs } from '../../schema/timer-limit.ts';
import type { Timekeeper } from '../ports/timekeeper.ts';

export interface Doorbell {
  ring(): void;
  rung(): Promise<void>;
}

/**
 * Creates a doorbell. It remembers a ring, so that a ring between reading and waiting is not lost. Waiting keeps the
 * process alive.
 */
export const newDoorbell = (clock: Timekeeper): Doorbell => {
  let rang = false;
  let answer: (() => void) | undefined;
  return {
    ring: () => {
      rang = true;
      answer?.();
    },
    rung: async () => {
      if (!rang) {
        const letGo = clock.every(longestTimerMs, () => {}, { keepsAlive: true });
        await new Promise<void>((resolve) => {
          answer = resolve;
        });
        letGo();
      }
      answer = undefined;
      rang = false;
    },
  };
};
